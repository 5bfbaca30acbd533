// Drives the job router's API of a built weir with Microsoft's published
// packages, and fails if a row of the API's table, an operator, a change of
// state or an event is missing. It starts the program that WEIR names
// (../../bin/weir) on a database of its own, or, with ROUTER_CONNECTION set to
// a connection string, talks to a router that runs; that one is to deliver its
// events to this program, on the port ROUTER_EVENTS, if that is set.
import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Router, routerClient } from "./client.mjs";
import { Coverage } from "./coverage.mjs";
import { pause, soon } from "./lab.mjs";
import { Receiver } from "./receiver.mjs";
import { copying } from "./copy.mjs";
import { page } from "./page.mjs";
import * as resources from "./resources.mjs";
import * as matching from "./matching.mjs";
import * as jobs from "./jobs.mjs";
import * as workers from "./workers.mjs";
import * as rules from "./functions.mjs";

const print = (line) => process.stdout.write(`${line}\n`);

async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// start runs weir and gives its connection string and a function that ends it.
async function start(events) {
  const program = path.resolve(process.env.WEIR ?? fileURLToPath(new URL("../../bin/weir", import.meta.url)));
  const folder = mkdtempSync(path.join(os.tmpdir(), "weir-router-"));
  const key = randomBytes(32).toString("base64");
  const retired = randomBytes(32).toString("base64");
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(program, ["serve"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH, DATABASE_URL: `sqlite://${path.join(folder, "weir.db")}`, LISTEN_ADDR: address, LOG_FORMAT: "text",
      JOB_ROUTER_ACCESS_KEYS: `${retired},${key}`, JOB_ROUTER_EVENT_SUBSCRIPTIONS: events,
    },
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => { log = (log + chunk).slice(-20_000); });
  const ended = new Promise((resolve) => { child.on("exit", resolve); child.on("error", resolve); });
  let gone = false;
  ended.then(() => { gone = true; });
  const stop = async () => {
    child.kill("SIGTERM");
    await Promise.race([ended, pause(10_000)]);
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await soon(async () => {
      if (gone) throw new Error("weir ended");
      return fetch(`http://${address}/readyz`).then((r) => r.ok, () => false);
    }, "weir");
  } catch (error) {
    await stop();
    throw new Error(`${program} did not start: ${error.message}\n${log}`);
  }
  return { connection: `endpoint=http://${address}/;accesskey=${key}`, stop, log: () => log };
}

async function run(connection, receiver, coverage) {
  const watch = (method, url, answer) => coverage.answered(method, url, answer);
  const router = new Router(routerClient(connection, watch));
  const strange = connection.replace(/accesskey=.*/, `accesskey=${randomBytes(32).toString("base64")}`);
  const stranger = new Router(routerClient(strange, watch));
  const older = new Router(routerClient(connection, watch, { apiVersion: "2023-11-01" }));
  const suites = {
    page: () => page(router),
    resources: () => resources.resources(router, coverage),
    mistakes: () => resources.mistakes(router, coverage, stranger),
    older: () => resources.older(router, coverage, older),
    lists: () => resources.lists(router, coverage),
    operators: () => matching.operators(router, coverage),
    figures: () => matching.figures(router, coverage),
    ...Object.fromEntries(Object.entries({ ...jobs, ...workers, ...rules }).map(([name, suite]) => [name, () => suite(router, coverage)])),
    ...(process.env.ROUTER_CONNECTION ? {} : { copying: () => copying(() => start("")) }),
  };
  const failures = [];
  await Promise.all(Object.entries(suites).map(async ([name, suite]) => {
    try {
      await suite();
      print(`ok   ${name}`);
    } catch (error) {
      print(`FAIL ${name}: ${error.stack}`);
      failures.push(name);
    }
  }));
  if (receiver) {
    // What is still on its way comes within seconds; the report tells what did not.
    await soon(() => receiver.fewest() >= coverage.wanted.event.length - 1, "all events").catch(() => {});
    try {
      print(`${receiver.check(coverage)} events, ${receiver.grid.length} deliveries in the Event Grid schema, ${receiver.cloud.length} in CloudEvents`);
    } catch (error) {
      print(`FAIL events: ${error.stack}`);
      failures.push("events");
    }
  }
  return failures;
}

async function main() {
  const coverage = new Coverage();
  const receiver = new Receiver();
  const subscriptions = await receiver.listen(Number(process.env.ROUTER_EVENTS ?? 0));
  const running = process.env.ROUTER_CONNECTION;
  const weir = running ? undefined : await start(subscriptions);
  let failures;
  try {
    failures = await run(running ?? weir.connection, running && !process.env.ROUTER_EVENTS ? undefined : receiver, coverage);
  } finally {
    if (weir) await weir.stop();
    receiver.close();
  }
  const missed = coverage.report(print, !running || process.env.ROUTER_EVENTS !== undefined);
  print(`${coverage.requests} requests`);
  for (const name of [...failures, ...missed]) print(`MISSED: ${name}`);
  if (failures.length + missed.length > 0) {
    if (weir) print(`The end of weir's log:\n${weir.log().split("\n").slice(-20).join("\n")}`);
    print("FAIL");
    process.exitCode = 1;
  } else {
    print("PASS: every row of the table, every operator, every change of state and every event that comes within 90 days");
  }
}

await main();
