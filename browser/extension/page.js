// Runs in a page, in a world of its own: text, elements by number, and what forms need.

globalThis.bridle ??= (() => {
  const INTERESTING =
    "a[href], button, input, select, textarea, summary, [role=button], [role=link], [role=checkbox], [role=tab], " +
    "[role=menuitem], [role=option], [role=radio], [role=switch], [role=combobox], [role=textbox], " +
    "[contenteditable=''], [contenteditable=true], [onclick]";
  const LONGEST_NAME = 120;
  const numbers = new WeakMap();
  const found = new Map();
  let last = 0;

  function number(element) {
    if (!numbers.has(element)) {
      numbers.set(element, ++last);
      found.set(last, new WeakRef(element));
    }
    return numbers.get(element);
  }

  function element(ref) {
    const known = found.get(ref)?.deref();
    if (known === undefined || !known.isConnected) {
      throw new Error(`There is no element ${ref} on the page now. Read the elements again.`);
    }
    return known;
  }

  function isVisible(each) {
    const box = each.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(each).visibility !== "hidden";
  }

  function* every(root) {
    for (const each of root.querySelectorAll("*")) {
      if (each.matches(INTERESTING)) yield each;
      if (each.shadowRoot) yield* every(each.shadowRoot);
    }
  }

  const short = (text) => String(text ?? "").replace(/\s+/g, " ").trim().slice(0, LONGEST_NAME);

  // What a label says, without the field that may stand inside it.
  function words(label) {
    const copy = label.cloneNode(true);
    for (const field of copy.querySelectorAll("input, select, textarea, button")) field.remove();
    return copy.textContent;
  }

  function name(each) {
    const by = each.getAttribute("aria-labelledby");
    const labeled = by ? by.split(/\s+/).map((id) => document.getElementById(id)?.textContent).join(" ") : "";
    const label = [...(each.labels ?? [])].map(words).join(" ");
    const image = each.querySelector?.("img[alt]")?.alt;
    const button = each.matches("input[type=submit], input[type=button], input[type=reset]") ? each.value : "";
    const own = each.matches("input, select, textarea") ? "" : each.innerText;
    return short(
      each.getAttribute("aria-label") || labeled || label || button || own || each.placeholder || each.title ||
        image || each.name || "",
    );
  }

  function kind(each) {
    const tag = each.localName;
    if (each.getAttribute("role")) return each.getAttribute("role");
    if (tag === "a") return "link";
    return tag === "input" ? `input ${each.type}` : tag;
  }

  function value(each) {
    if (each.matches("input[type=password]")) return each.value ? "(hidden)" : "";
    if (each.matches("input[type=checkbox], input[type=radio]")) return each.checked ? "checked" : "not checked";
    if (each.matches("input[type=file]")) return [...each.files].map((file) => file.name).join(", ");
    if (each.matches("select")) return [...each.selectedOptions].map((option) => option.label).join(", ");
    return each.matches("input, textarea") ? each.value : "";
  }

  function described(each) {
    const row = { ref: number(each), kind: short(kind(each)), name: name(each) };
    const now = short(value(each));
    if (now) row.value = now;
    if (each.matches("a[href]")) row.href = each.href.slice(0, 300);
    if (each.matches("select")) row.options = [...each.options].slice(0, 30).map((option) => short(option.label));
    if (each.disabled) row.disabled = true;
    return row;
  }

  function piece(text, offset, limit) {
    return { text: text.slice(offset, offset + limit), offset, total: text.length };
  }

  return {
    text: ({ offset = 0, limit = 20000 }) => piece(document.body?.innerText ?? "", offset, limit),

    elements({ filter = "", offset = 0, limit = 200 }) {
      const wanted = filter.toLowerCase();
      const rows = [];
      for (const each of every(document)) {
        const isFile = each.matches("input[type=file]");
        if (each.matches("input[type=hidden]") || (!isVisible(each) && !isFile)) continue;
        const row = described(each);
        if (wanted && !`${row.kind} ${row.name} ${row.href ?? ""}`.toLowerCase().includes(wanted)) continue;
        rows.push(row);
      }
      return { elements: rows.slice(offset, offset + limit), offset, total: rows.length };
    },

    locate({ ref }) {
      const target = element(ref);
      target.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      const box = target.getBoundingClientRect();
      if (box.width === 0 || box.height === 0) throw new Error(`Element ${ref} is not visible.`);
      const x = box.left + box.width / 2;
      const y = box.top + box.height / 2;
      const top = target.getRootNode().elementFromPoint(x, y);
      const belongs = top && (target.contains(top) || top.contains(target) || top.control === target);
      if (!belongs) throw new Error(`Element ${ref} is covered by ${top ? `<${top.localName}> ${name(top)}` : "nothing that can be clicked"}.`);
      return { x, y, name: name(target) };
    },

    fill({ ref, text }) {
      const target = element(ref);
      if (target.disabled || target.readOnly) throw new Error(`Element ${ref} cannot be changed.`);
      if (target.matches("select")) {
        const option = [...target.options].find((each) => each.label === text || each.value === text);
        if (!option) throw new Error(`Element ${ref} has no option ${text}.`);
        target.value = option.value;
      } else if (target.matches("input[type=checkbox], input[type=radio]")) {
        if (target.checked !== (text === "true")) target.click();
        return { name: name(target), type: false };
      } else if (target.matches("input[type=file]")) {
        throw new Error(`Element ${ref} takes a file.`);
      } else if (target.matches("input, textarea") && !/^(text|search|url|tel|email|password|textarea)$/.test(target.type)) {
        target.value = text;
        if (text && target.value === "") throw new Error(`Element ${ref} (${target.type}) does not take this value.`);
      } else if (target.matches("input, textarea")) {
        target.focus();
        target.select();
        return { name: name(target), type: true };
      } else if (target.isContentEditable) {
        target.focus();
        getSelection().selectAllChildren(target);
        return { name: name(target), type: true };
      } else {
        throw new Error(`Element ${ref} is a ${kind(target)} and takes no text.`);
      }
      this.changed({ ref, input: true });
      return { name: name(target), type: false };
    },

    changed({ ref, input = false }) {
      const target = element(ref);
      if (input) target.dispatchEvent(new Event("input", { bubbles: true }));
      target.dispatchEvent(new Event("change", { bubbles: true }));
    },

    scroll({ ref, where }) {
      if (ref !== undefined && ref !== null) {
        element(ref).scrollIntoView({ block: "center", behavior: "instant" });
      } else {
        const page = innerHeight * 0.9;
        const to = { up: scrollY - page, down: scrollY + page, top: 0, bottom: document.body.scrollHeight }[where];
        if (to === undefined) throw new Error("Scroll up, down, top or bottom.");
        scrollTo({ top: to, behavior: "instant" });
      }
      return { at: Math.round(scrollY), height: document.body.scrollHeight };
    },

    upload({ ref, name: file, type, data }) {
      const target = element(ref);
      if (!target.matches("input[type=file]")) throw new Error(`Element ${ref} takes no file.`);
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      const carrier = new DataTransfer();
      carrier.items.add(new File([bytes], file, { type }));
      target.files = carrier.files;
      this.changed({ ref, input: true });
      return { name: name(target), size: bytes.length };
    },
  };
})();
