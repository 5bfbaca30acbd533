// Starts the processes of a run: Weir on temporary folders and simulated
// providers. All listen on loopback; end() ends only what was started here.
import { execFile, spawn } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const program = path.resolve(process.env.WEIR ?? path.join(root, "bin/weir"));
const weirlab = path.resolve(process.env.WEIRLAB ?? path.join(root, "bin/weirlab"));

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// soon waits until look returns a true value, and returns it.
export async function soon(look, what, within = 20_000) {
  const end = Date.now() + within;
  for (let last; ; await pause(100)) {
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`waited ${within / 1000} s for ${what}${last ? `: ${last.message}` : ""}`);
  }
}

async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const answers = (url) => fetch(url).then((r) => r.ok, () => false);

// Lab starts processes in one folder and ends them all.
export class Lab {
  constructor() {
    this.folder = mkdtempSync(path.join(os.tmpdir(), "weir-ui-"));
    this.children = [];
  }

  // run starts weir or another program, each with its own log.
  run(name, args, env = {}, file = program) {
    const folder = path.join(this.folder, name);
    mkdirSync(folder, { recursive: true });
    const log = path.join(folder, "log");
    const child = spawn(file, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], env: { PATH: process.env.PATH, ...env } });
    const lines = createWriteStream(log, { mode: 0o600 });
    for (const stream of [child.stdout, child.stderr]) stream.pipe(lines, { end: false });
    const entry = { child, folder, log, gone: false };
    entry.ended = new Promise((resolve) => { child.on("exit", resolve); child.on("error", resolve); });
    entry.ended.then(() => { entry.gone = true; });
    this.children.push(entry);
    return entry;
  }

  // ready waits until a process responds.
  async ready(entry, url, what) {
    await soon(async () => {
      if (entry.gone) throw new Error(`${what} ended: ${readFileSync(entry.log, "utf8").slice(-2000)}`);
      return answers(url);
    }, what, 30_000);
  }

  // simulator starts a simulated provider and returns its address.
  async simulator(name, kind, args) {
    const address = `127.0.0.1:${await freePort()}`;
    const entry = this.run(name, ["simulate", kind, "--listen", address, ...args], {}, weirlab);
    await this.ready(entry, `http://${address}/_simulator/records`, name);
    return `http://${address}`;
  }

  // weir starts a broker. Secrets reach it in files.
  async weir(name, { token, key, env = {} }) {
    const address = `127.0.0.1:${await freePort()}`;
    const secret = (file, text) => {
      const at = path.join(this.folder, `${name}-${file}`);
      writeFileSync(at, text, { mode: 0o600 });
      return at;
    };
    const settings = {
      DATABASE_URL: `sqlite://${path.join(this.folder, `${name}.db`)}`, LISTEN_ADDR: address, LOG_FORMAT: "text", LOG_LEVEL: "debug",
      WEIR_RATE_LIMIT: "0", WEIR_CHANNEL_CHECK_EVERY: "2s", WEIR_SEND_TIMEOUT: "2s", WEIR_EVENT_RETENTION: "25h",
      CHNL_BKR_GC_IDLE_MINUTES: "0.2", CHNL_BKR_GC_INTERVAL_MINUTES: "0.1", ...env,
      ...(token ? { WEIR_API_TOKENS_FILE: secret("token", token) } : {}),
      ...(key ? { JOB_ROUTER_ACCESS_KEYS_FILE: secret("key", key) } : {}),
    };
    const entry = this.run(name, ["serve"], settings);
    await this.ready(entry, `http://${address}/readyz`, name);
    return new Weir(`http://${address}`, settings.WEIR_PATH_PREFIX ?? "", settings, entry, token);
  }

  // end ends every process that was started and removes the folder.
  async end() {
    for (const { child } of this.children) child.kill("SIGTERM");
    await Promise.race([Promise.all(this.children.map((c) => c.ended)), pause(8000)]);
    for (const c of this.children) if (!c.gone) c.child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// Weir is a running broker.
class Weir {
  constructor(origin, prefix, env, entry, token) {
    Object.assign(this, { origin, prefix, env, entry, token, folder: entry.folder });
  }

  get url() { return this.origin + this.prefix; }

  log() { return readFileSync(this.entry.log, "utf8"); }

  // cli runs a command beside the broker and returns its output.
  cli(args, input) {
    return new Promise((resolve, reject) => {
      const child = execFile(program, args, { cwd: this.folder, env: { PATH: process.env.PATH, ...this.env, WEIR_URL: this.url, WEIR_TOKEN: this.token } },
        (error, stdout, stderr) => (error ? reject(new Error(`weir ${args.join(" ")}: ${stderr || error.message}`)) : resolve(stdout.trim())));
      if (input !== undefined) child.stdin.end(input);
    });
  }

  // newToken creates a token in the store and waits until the broker accepts it.
  async newToken(name, scopes) {
    const token = await this.cli(["token", "create", "--name", name, "--scope", scopes.join(",")]);
    await soon(() => fetch(`${this.url}/v1/whoami`, { headers: { Authorization: `Bearer ${token}` } }).then((r) => r.ok), `the token ${name}`);
    return { token, id: token.split("_")[1] };
  }

  // api sends a request to the API and throws on an error status.
  async api(method, at, body, type = "application/json") {
    const response = await fetch(this.url + at, {
      method, headers: { Authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { "Content-Type": type }) },
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${text.slice(0, 800)}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  get(at) { return this.api("GET", at); }

  patch(at, body) { return this.api("PATCH", at, body, "application/merge-patch+json"); }

  // route changes a resource of the router.
  route(at, body, method = "PATCH") {
    const url = `/routing/${at}?api-version=2024-01-18-preview`;
    return method === "PATCH" ? this.patch(url, body) : this.api(method, url, body);
  }
}
