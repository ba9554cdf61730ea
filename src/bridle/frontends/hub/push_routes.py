"""The routes by which a device says how it wants to be notified."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridle.frontends.hub import push
from bridle.frontends.hub.hub import Hub, answer, body_of, text_of
from bridle.frontends.hub.push import Notice, PushService
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.remote.access import is_near


class PushRoutes:
    """Answers devices about their notifications."""

    def __init__(self, hub: Hub, pusher: PushService) -> None:
        self._hub = hub
        self._pusher = pusher

    def routes(self) -> list[Route]:
        return [
            Route("/api/push", self._list, methods=["GET"]),
            Route("/api/push", self._add, methods=["PUT"]),
            Route("/api/push", self._remove, methods=["DELETE"]),
            Route("/api/push/try", self._try, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        device = await self._hub.device(request, "watch")
        found = await self._hub.read(push.subscriptions_of, device.id)
        shown = [{"kind": each.kind, "endpoint": each.endpoint, "content": each.content} for each in found]
        return answer({"key": push.public_push_key(self._hub.push_key), "subscriptions": shown})

    async def _add(self, request: Request) -> Response:
        device, body = await self._hub.device(request, "answer"), await body_of(request)
        wanted = push.read_subscription(body, device)
        await push.check_endpoint(wanted.endpoint, is_local=is_near(self._hub.options.listen))
        await self._hub.write(push.subscribe, wanted)
        return Response(status_code=204)

    async def _remove(self, request: Request) -> Response:
        device, body = await self._hub.device(request, "watch"), await body_of(request)
        await self._hub.write(push.unsubscribe, device.id, text_of(body, "endpoint"))
        return Response(status_code=204)

    async def _try(self, request: Request) -> Response:
        device, body = await self._hub.device(request, "answer"), await body_of(request)
        endpoint = text_of(body, "endpoint")
        found = await self._hub.read(push.subscriptions_of, device.id)
        wanted = next((each for each in found if each.endpoint == endpoint), None)
        if wanted is None:
            raise Refusal(404, "There is no such subscription.")
        status = await self._pusher.send(wanted, Notice("bridle hub", "Notifications work.", "try", ""))
        await self._hub.write(push.note_result, wanted, status)
        if not 200 <= status < 300:
            said = f"answered with status {status}" if status else "can't be reached"
            raise Refusal(502, f"The service of this subscription {said}.")
        return Response(status_code=204)
