"""fakellm, a mock of OpenAI's and Anthropic's servers, unchanged; `fakellm.yaml` has its answers."""

from asgi import server
from fakellm.server import app

server.serve(app, [("http", "/")])
