// Verifies requests with the npm package standardwebhooks: one JSON object per line in, one
// verdict per line out.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  try {
    new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
    console.log("ok");
  } catch {
    console.log("refused");
  }
}
