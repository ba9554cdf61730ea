// Encryption between this device and machines. The hub passes on what it cannot read.

const STORE = "kept";
const bytes = (text) => new TextEncoder().encode(text);

/** The keys of this device, kept by the browser so that no script can copy them out. */
export class Keys {
  #base;
  #pair = null;
  #public = "";
  #machines = new Map();
  #derived = new Map();

  static async open() {
    const keys = new Keys();
    if (!Keys.isPossible) return keys;
    keys.#base = await open();
    const { pair, trusted = {} } = (await read(keys.#base, "keys")) ?? {};
    keys.#pair = pair ?? null;
    if (pair) keys.#public = await publicOf(pair);
    keys.trusted = trusted;
    return keys;
  }

  /** Browsers offer cryptography only to pages by https and on the same machine. */
  static get isPossible() {
    return window.isSecureContext && Boolean(crypto.subtle) && Boolean(window.indexedDB);
  }

  trusted = {};

  has(machine) {
    return this.#machines.has(machine);
  }

  /** Ask a machine for its keys, with what its link says: `<machine>.<public key>.<secret>`. */
  async trust(link, ask) {
    if (!Keys.isPossible) throw new Error("Encryption needs https, or a tunnel to 127.0.0.1.");
    const [machine, key, secret] = link.split(".");
    if (!machine || !key || !secret) throw new Error("This link is not complete. Show it again with: bridle hub trust");
    if (!this.#pair) {
      this.#pair = await crypto.subtle.generateKey({ name: "X25519" }, false, ["deriveBits"]);
      this.#public = await publicOf(this.#pair);
    }
    this.trusted = { ...this.trusted, [machine]: key };
    await write(this.#base, "keys", { pair: this.#pair, trusted: this.trusted });
    const mac = await crypto.subtle.importKey("raw", bytes(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const proof = hex(await crypto.subtle.sign("HMAC", mac, bytes(`${key}|${this.#public}`)));
    await ask("PUT", `api/keys/${encodeURIComponent(machine)}`, { public: this.#public, proof });
    return machine;
  }

  /** Take the keys that machines have left for this device; true if there are new ones. */
  async refresh(ask) {
    if (!this.#pair || Object.keys(this.trusted).length === 0) return false;
    const { rings } = await ask("GET", "api/keys");
    const before = JSON.stringify([...this.#machines].map(([machine, { text }]) => [machine, text]));
    this.#machines.clear();
    for (const { machine, public: own, ring } of rings) {
      const known = this.trusted[machine];
      if (!known || own !== this.#public) continue;
      const other = await crypto.subtle.importKey("raw", decode(known), { name: "X25519" }, false, []);
      const shared = await crypto.subtle.deriveBits({ name: "X25519", public: other }, this.#pair.privateKey, 256);
      const opened = await decrypt(await derive(shared, "wrap"), decode(ring), `wrap|${known}|${this.#public}`);
      this.#machines.set(machine, { ...JSON.parse(new TextDecoder().decode(opened)), text: ring });
    }
    this.#derived.clear();
    return before !== JSON.stringify([...this.#machines].map(([machine, { text }]) => [machine, text]));
  }

  async seal(machine, context, about, value) {
    const { key, data } = await this.sealBytes(machine, context, about, bytes(JSON.stringify(value)));
    return { key, sealed: encode(data) };
  }

  async sealBytes(machine, context, about, plain) {
    const { current } = this.#ring(machine);
    const nonce = crypto.getRandomValues(new Uint8Array(12));
    const parameters = { name: "AES-GCM", iv: nonce, additionalData: bytes(about) };
    const data = new Uint8Array(await crypto.subtle.encrypt(parameters, await this.#key(machine, current, context), plain));
    const whole = new Uint8Array(nonce.length + data.length);
    whole.set(nonce);
    whole.set(data, nonce.length);
    return { key: current, data: whole };
  }

  /** What is in a box; an error if it was changed, or made for another place. */
  async open(machine, context, about, box) {
    const plain = await decrypt(await this.#key(machine, box.key, context), decode(box.sealed), about);
    return JSON.parse(new TextDecoder().decode(plain));
  }

  #ring(machine) {
    const ring = this.#machines.get(machine);
    if (!ring) throw new Error("This device has no keys of that machine. Run bridle hub trust there, and open the link here.");
    return ring;
  }

  async #key(machine, id, context) {
    const name = `${machine}/${id}/${context}`;
    if (!this.#derived.has(name)) {
      const key = this.#ring(machine).keys[id];
      if (!key) throw new Error("This device does not have that key.");
      this.#derived.set(name, await derive(decode(key), context));
    }
    return this.#derived.get(name);
  }
}

/** Keep something for when there is no network. */
export async function keep(name, value) {
  if (window.indexedDB) await write(await open(), name, value);
}

export async function kept(name) {
  return window.indexedDB ? ((await read(await open(), name)) ?? null) : null;
}

export function encode(data) {
  let text = "";
  for (let at = 0; at < data.length; at += 8_192) text += String.fromCharCode(...data.subarray(at, at + 8_192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function decode(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
}

export function hex(data) {
  return [...new Uint8Array(data)].map((each) => each.toString(16).padStart(2, "0")).join("");
}

async function derive(secret, context) {
  const base = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: bytes(`bridle hub ${context}`) };
  return crypto.subtle.deriveKey(parameters, base, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

async function decrypt(key, data, about) {
  const parameters = { name: "AES-GCM", iv: data.slice(0, 12), additionalData: bytes(about) };
  return crypto.subtle.decrypt(parameters, key, data.slice(12));
}

async function publicOf(pair) {
  return encode(new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)));
}

function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("bridle-hub", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function read(base, name) {
  return new Promise((resolve, reject) => {
    const request = base.transaction(STORE).objectStore(STORE).get(name);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function write(base, name, value) {
  return new Promise((resolve, reject) => {
    const work = base.transaction(STORE, "readwrite");
    work.objectStore(STORE).put(value, name);
    work.oncomplete = () => resolve();
    work.onerror = () => reject(work.error);
  });
}
