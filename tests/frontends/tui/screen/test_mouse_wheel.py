"""Quick turns of the wheel scroll further."""

from bridle.frontends.tui.screen.mouse_wheel import MouseWheel


def test_quick_turns_in_one_direction_scroll_further_up_to_a_limit():
    times = iter([0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 5.0, 5.01])
    wheel = MouseWheel({}, clock=lambda: next(times))
    assert [wheel.turned("wheelup") for _ in range(7)] == [3, 6, 9, 12, 15, 15, 15]
    assert [wheel.turned("wheelup"), wheel.turned("wheeldown")] == [3, 3]


def test_a_steady_wheel_and_its_speed():
    times = iter([0.0, 0.01, 0.02])
    wheel = MouseWheel({"CLAUDE_CODE_SCROLL_SPEED": "99"}, accelerates=False, clock=lambda: next(times))
    assert [wheel.turned("wheelup") for _ in range(3)] == [20, 20, 20]
