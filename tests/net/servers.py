"""Servers that a transport meets, on the loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.player import listening

CERTIFICATES = Path(__file__).parent / "certificates"


@asynccontextmanager
async def silent_port() -> AsyncIterator[int]:
    """A server that accepts and never says a word (so TLS never stands)."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with listening(accept) as port:
        yield port


@asynccontextmanager
async def tls_server() -> AsyncIterator[str]:
    """A server whose certificate no authority of the system knows; its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "localhost.pem", CERTIFICATES / "localhost.key")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    async with listening(serve, context) as port:
        yield f"https://localhost:{port}/"
