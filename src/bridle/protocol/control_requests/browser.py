"""What a host shows of the user's browsers, and which of them a session is to use."""

from collections.abc import Mapping
from typing import Any

from bridle.features.browser.feature import BROWSERS
from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.types.errors import UsageError


async def get_chrome_browsers(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Browsers that run with the extension; `selected` is the one that the session works with."""
    del request
    feature = dispatcher.runtime.features.find(BROWSERS)
    if feature is None:
        return {"browsers": []}
    browser = feature.browser()
    found, used = await browser.browsers(), browser.about
    return {
        "browsers": [
            {
                "device_id": each.profile,
                "name": each.label,
                "extension_version": each.extension,
                "selected": used is not None and used.profile == each.profile,
            }
            for each in found
        ]
    }


async def get_chrome_dialog(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Whether the model has a browser, which browsers can find bridle, and which are connected."""
    from bridle.host.chrome.manifests import browser_folders, is_installed

    env = dispatcher.runtime.env
    feature = dispatcher.runtime.features.find(BROWSERS)
    listed = await get_chrome_browsers(dispatcher, request)
    installed = [each.name for each in browser_folders(env) if is_installed(each, env)]
    is_on = feature is not None and feature.is_on
    return {
        "allowed": feature is not None,
        "subscriber": False,
        "wsl": False,
        "installed": bool(installed),
        "installed_in": installed,
        "connected": bool(listed["browsers"]),
        "enabled_by_default": is_on,
        "at_startup": is_on,
        "urls": {},
        **listed,
    }


async def select_chrome_browser(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Use a browser by its `device_id`.

    Raises:
        UsageError: there is no such browser.
    """
    wanted, feature = request.get("device_id"), dispatcher.runtime.features.find(BROWSERS)
    if not isinstance(wanted, str) or not wanted or feature is None:
        raise UsageError("device_id must be the id of a browser that is connected.")
    chosen = await feature.browser().choose(wanted)
    return {"device_id": chosen.profile, "name": chosen.label}
