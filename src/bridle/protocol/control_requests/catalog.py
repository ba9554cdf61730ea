"""Every request that a host may make, by its subtype."""

from bridle.protocol.control_requests import browser, dialogs, servers, side_requests
from bridle.protocol.control_requests import changes as steering
from bridle.protocol.control_requests import queries as inquiries
from bridle.protocol.control_requests.context_usage import get_context_usage
from bridle.protocol.control_requests.dispatcher import RequestCatalog
from bridle.protocol.control_requests.initialize import initialize

_HANDLERS = {
    "initialize": initialize,
    "interrupt": steering.interrupt,
    "cancel_async_message": steering.cancel_async_message,
    "set_permission_mode": steering.set_permission_mode,
    "set_model": steering.set_model,
    "set_max_thinking_tokens": steering.set_max_thinking_tokens,
    "apply_flag_settings": steering.apply_flag_settings,
    "update_settings": steering.update_settings,
    "rename_session": steering.rename_session,
    "set_color": steering.set_color,
    "register_repo_root": steering.register_repo_root,
    "set_cwd": steering.set_cwd,
    "seed_read_state": steering.seed_read_state,
    "rewind_files": steering.rewind_files,
    "stop_task": steering.stop_task,
    "background_tasks": steering.background_tasks,
    "set_has_subscribers": steering.nothing,
    "end_session": steering.end_session,
    "mcp_status": servers.mcp_status,
    "mcp_reconnect": servers.mcp_reconnect,
    "mcp_toggle": servers.mcp_toggle,
    "mcp_set_servers": servers.mcp_set_servers,
    "mcp_message": servers.mcp_message,
    "mcp_call": servers.mcp_call,
    "mcp_read_resource": servers.mcp_read_resource,
    "get_context_usage": get_context_usage,
    "get_settings": inquiries.get_settings,
    "get_session_cost": inquiries.get_session_cost,
    "get_usage": inquiries.get_usage,
    "get_task_output": inquiries.get_task_output,
    "get_binary_version": inquiries.get_binary_version,
    "get_hooks_listing": inquiries.get_hooks_listing,
    "list_models": inquiries.list_models,
    "list_permission_rules": inquiries.list_permission_rules,
    "get_status": dialogs.get_status,
    "get_plan": dialogs.get_plan,
    "export_conversation": dialogs.export_conversation,
    "get_memory_dialog": dialogs.get_memory_dialog,
    "get_skills_dialog": dialogs.get_skills_dialog,
    "get_chrome_browsers": browser.get_chrome_browsers,
    "get_chrome_dialog": browser.get_chrome_dialog,
    "select_chrome_browser": browser.select_chrome_browser,
    "set_chrome_browser_hints": steering.nothing,
    "generate_session_title": side_requests.generate_session_title,
    "side_question": side_requests.side_question,
    "message_rated": side_requests.message_rated,
    "submit_feedback": side_requests.submit_feedback,
    "set_prompt_suggestions_paused": side_requests.set_prompt_suggestions_paused,
    "read_file": inquiries.read_file,
    "file_suggestions": inquiries.file_suggestions,
    "reload_skills": inquiries.reload_skills,
    "reload_plugins": inquiries.reload_plugins,
    "reload_output_styles": inquiries.reload_output_styles,
}

_ORDERED = frozenset(
    {
        "initialize",
        "set_permission_mode",
        "set_model",
        "set_max_thinking_tokens",
        "apply_flag_settings",
        "update_settings",
        "register_repo_root",
        "set_cwd",
        "set_prompt_suggestions_paused",
        "seed_read_state",
        "rewind_files",
        "mcp_set_servers",
    }
)

CATALOG = RequestCatalog(handlers=_HANDLERS, ordered=_ORDERED)
