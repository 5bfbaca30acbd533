// Uses Twilio's Node library: "sdk.mjs requests URL SID TOKEN FORMS" requests a
// message and a call of a server and prints what the library reads of the answers;
// "sdk.mjs sign TOKEN CASES" prints the signatures of callbacks.
import twilio from "twilio";

// Redirected sends the library's requests to another server.
class Redirected extends twilio.RequestClient {
  constructor(base) {
    super();
    this.base = base;
  }
  request(options) {
    const at = new URL(options.uri);
    return super.request({ ...options, uri: this.base + at.pathname + at.search });
  }
}

async function requests(base, sid, token, forms) {
  const client = twilio(sid, token, { httpClient: new Redirected(base) });
  const message = await client.messages.create(forms.message);
  const call = await client.calls.create(forms.call);
  const fetched = await client.messages(message.sid).fetch();
  const listed = await client.messages.list({ to: forms.message.to, limit: 10 });
  const calls = await client.calls.list({ to: forms.call.to, limit: 10 });
  const canceled = await client.calls(call.sid).update({ status: "canceled" });
  const fetchedCall = await client.calls(call.sid).fetch();
  let refusal = {};
  try {
    await client.messages.create({ ...forms.message, to: "nobody" });
  } catch (e) {
    refusal = { code: e.code, status: e.status };
  }
  return {
    message: { sid: message.sid, status: message.status, body: message.body, dated: message.dateCreated instanceof Date, segments: message.numSegments },
    call: { sid: call.sid, status: call.status, direction: call.direction, dated: call.dateCreated instanceof Date },
    fetched: fetched.sid, listed: listed.map((m) => m.sid), calls: calls.map((c) => c.sid),
    canceled: canceled.status, fetchedCall: fetchedCall.status, refusal,
  };
}

function sign(token, cases) {
  return cases.map((c) => {
    let url = c.url;
    if (c.body) {
      url += (url.includes("?") ? "&" : "?") + "bodySHA256=" + twilio.getExpectedBodyHash(c.body);
    }
    return { url, signature: twilio.getExpectedTwilioSignature(token, url, c.params ?? {}) };
  });
}

const [what, ...args] = process.argv.slice(2);
const result = what === "sign" ? sign(args[0], JSON.parse(args[1])) : await requests(args[0], args[1], args[2], JSON.parse(args[3]));
process.stdout.write(JSON.stringify(result));
