"""Emoji by their names between colons."""

import re

from bridle.frontends.tui.completion.completion import Completion

_NAMES = """
    +1 👍 -1 👎 100 💯 airplane ✈️ alarm_clock ⏰ alien 👽 ambulance 🚑 anchor ⚓ angry 😠
    apple 🍎 art 🎨 arrow_down ⬇️ arrow_left ⬅️ arrow_right ➡️ arrow_up ⬆️ astonished 😲
    baby 👶 balloon 🎈 bangbang ‼️ bar_chart 📊 battery 🔋 bear 🐻 bee 🐝 beer 🍺 beers 🍻
    bell 🔔 bike 🚲 bird 🐦 birthday 🎂 blush 😊 boat ⛵ bomb 💣 book 📖 bookmark 🔖 books 📚
    boom 💥 bricks 🧱 broken_heart 💔 bug 🐛 building_construction 🏗️ bulb 💡 bus 🚌 cactus 🌵
    cake 🍰 calendar 📆 camera 📷 car 🚗 card_file_box 🗃️ cat 🐱 chart 💹
    chart_with_downwards_trend 📉 chart_with_upwards_trend 📈 checkered_flag 🏁 cherries 🍒
    clap 👏 clipboard 📋 closed_lock_with_key 🔐 cloud ☁️ clown_face 🤡 coffee ☕ coffin ⚰️
    computer 💻 confetti_ball 🎊 confused 😕 construction 🚧 construction_worker 👷 cookie 🍪
    cool 🆒 cow 🐮 crab 🦀 credit_card 💳 crown 👑 cry 😢 crystal_ball 🔮 dancer 💃 dart 🎯
    date 📅 desert_island 🏝️ dizzy 💫 dog 🐶 dolphin 🐬 door 🚪 dragon 🐉 droplet 💧 eagle 🦅
    earth_africa 🌍 earth_americas 🌎 earth_asia 🌏 egg 🥚 electric_plug 🔌 elephant 🐘
    email 📧 envelope ✉️ exclamation ❗ exploding_head 🤯 eyes 👀 face_palm 🤦 factory 🏭
    fast_forward ⏩ file_folder 📁 fire 🔥 fireworks 🎆 fish 🐟 flags 🎏 flashlight 🔦
    flushed 😳 four_leaf_clover 🍀 fox_face 🦊 frog 🐸 gear ⚙️ gem 💎 ghost 👻 gift 🎁
    globe_with_meridians 🌐 goal_net 🥅 green_heart 💚 grin 😁 grinning 😀 hammer 🔨
    hammer_and_wrench 🛠️ handshake 🤝 hankey 💩 heart ❤️ heart_eyes 😍 heavy_check_mark ✔️
    heavy_minus_sign ➖ heavy_plus_sign ➕ hibiscus 🌺 honeybee 🐝 hourglass ⌛ house 🏠
    hugs 🤗 inbox_tray 📥 information_source ℹ️ iphone 📱 joy 😂 key 🔑 kiss 💋 label 🏷️
    ladybug 🐞 laughing 😆 link 🔗 lipstick 💄 lock 🔒 loud_sound 🔊 mag 🔍 mag_right 🔎
    magnet 🧲 mailbox 📫 mask 😷 medal_sports 🏅 mega 📣 memo 📝 microscope 🔬
    money_with_wings 💸 monkey 🐒 monkey_face 🐵 moon 🌔 motorway 🛣️ mountain ⛰️ mouse 🐭
    movie_camera 🎥 muscle 💪 mushroom 🍄 musical_note 🎵 mute 🔇 nerd_face 🤓 neutral_face 😐
    new 🆕 newspaper 📰 no_entry ⛔ no_entry_sign 🚫 octopus 🐙 ok 🆗 ok_hand 👌
    open_file_folder 📂 outbox_tray 📤 package 📦 page_facing_up 📄 paintbrush 🖌️
    panda_face 🐼 paperclip 📎 passport_control 🛂 pencil 📝 pencil2 ✏️ penguin 🐧 pensive 😔
    pill 💊 pizza 🍕 poop 💩 point_down 👇 point_left 👈 point_right 👉 point_up ☝️ pray 🙏
    pushpin 📌 question ❓ rabbit 🐰 racehorse 🐎 rage 😡 rainbow 🌈 raised_hands 🙌 recycle ♻️
    relieved 😌 repeat 🔁 rewind ⏪ robot 🤖 rocket 🚀 rofl 🤣 rose 🌹 rotating_light 🚨 rotfl 🤣
    runner 🏃 sad 😢 satellite 📡 scissors ✂️ scream 😱 scroll 📜 see_no_evil 🙈 seedling 🌱
    shield 🛡️ ship 🚢 shrug 🤷 skull 💀 sleeping 😴 slightly_smiling_face 🙂 smile 😄 smiley 😃
    smirk 😏 snail 🐌 snake 🐍 snowflake ❄️ snowman ⛄ sob 😭 sparkles ✨ sparkling_heart 💖
    speech_balloon 💬 spider 🕷️ star ⭐ star2 🌟 star_struck 🤩 stethoscope 🩺 stop_sign 🛑
    stopwatch ⏱️ sun_with_face 🌞 sunflower 🌻 sunglasses 😎 sunny ☀️ sunrise 🌅 sweat 😓
    sweat_smile 😅 tada 🎉 taxi 🚕 tea 🍵 telephone ☎️ test_tube 🧪 thinking 🤔
    thought_balloon 💭 thumbsdown 👎 thumbsup 👍 tiger 🐯 timer_clock ⏲️ toolbox 🧰 tractor 🚜
    train 🚆 trash 🗑️ tree 🌲 triangular_flag_on_post 🚩 trophy 🏆 truck 🚚 turtle 🐢
    umbrella ☔ unicorn 🦄 unlock 🔓 upside_down_face 🙃 v ✌️ wastebasket 🗑️ watch ⌚ wave 👋
    whale 🐳 wheelchair ♿ white_check_mark ✅ wind_face 🌬️ wine_glass 🍷 wink 😉 wrench 🔧
    writing_hand ✍️ x ❌ yellow_heart 💛 yum 😋 zap ⚡ zipper_mouth_face 🤐 zzz 💤
    """
_WORDS = _NAMES.split()
EMOJI: dict[str, str] = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
_WHOLE = re.compile(r"(?:^|(?<=\s)):([a-z0-9_+-]+):$")


def complete_emoji(query: str, *, limit: int = 8) -> list[Completion]:
    """Emoji whose names begin with what was typed, then those that have it inside."""
    wanted = query.lower()
    begin = [name for name in EMOJI if name.startswith(wanted)]
    inside = [name for name in EMOJI if wanted in name and not name.startswith(wanted)]
    return [
        Completion(text=f"{EMOJI[name]} ", label=f"{EMOJI[name]} :{name}:", kind="emoji")
        for name in (*begin, *inside)[:limit]
    ]


def whole_name(before: str) -> tuple[int, str] | None:
    """Where a name between colons begins at the end of a text, and its emoji; None if there is none."""
    found = _WHOLE.search(before)
    if found is None or (emoji := EMOJI.get(found[1])) is None:
        return None
    return found.start(), emoji
