"""The transport of a solution, from its options."""

from __future__ import annotations

from pathlib import Path

from tui_eval.net.transport import TlsFiles, Transport
from tui_eval.solutions.base import SolutionSetup
from tui_eval.spec.solution_options import AgentRuntimesOptions, ChatOptions, HttpOptions, Tls


def transport_for(options: HttpOptions | ChatOptions | AgentRuntimesOptions, setup: SolutionSetup) -> Transport:
    """A transport that has opened nothing yet. Resolves ``${NAME}`` in ``proxy``."""
    proxy = setup.resolve(options.proxy) if options.proxy else None
    return Transport(proxy=proxy, environment=setup.environment, tls=tls_files(options.tls, setup.folder))


def tls_files(tls: Tls, folder: Path) -> TlsFiles:
    """The files of ``tls`` with paths relative to ``folder`` made whole."""
    places = [
        str(folder / Path(path).expanduser()) if path else None
        for path in (tls.ca_file, tls.client_cert, tls.client_key)
    ]
    return TlsFiles(tls.verify, *places)
