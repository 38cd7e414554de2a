"""Both ends of the app; what they do is in the package."""
from couplet.flower import client_app, server_app

__all__ = ["client_app", "server_app"]
