def environment_provider_fields(name):
    return {}
