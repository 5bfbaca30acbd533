// Surveys: one under way with quotas and some history, one that is over, and
// drafts to be launched.
import { soon } from "./lab.mjs";
import { phone } from "./state.mjs";

const regions = ["north", "south", "east", "west"];

const always = { time_zone: "UTC", weekdays: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], windows: [{ from: "00:00", to: "24:00" }] };
const hours = { time_zone: "Africa/Nairobi", weekdays: ["mon", "tue", "wed", "thu", "fri"], windows: [{ from: "09:00", to: "12:30" }, { from: "14:00", to: "18:00" }] };

export const definition = (title, more = {}) => ({
  title, schedule: always,
  modes: { sms: { channel: "texts", retries: "10m 1h" }, ivr: { channel: "calls", retries: "10m" } },
  arms: [{ modes: ["ivr", "sms"] }],
  questionnaires: { main: {
    ivr: [{ call: { callback_url: "https://interviews.example.org/flu?r={{respondent}}" } }],
    sms: [{ messages: ["Hello {{first_name}}, may we ask you something?"] }],
  } },
  ...more,
});

const people = (from, count) => ({
  respondents: Array.from({ length: count }, (_, i) => ({ phone: phone(from + i), attributes: { first_name: ["Ana", "Luis", "Mei", "Kofi"][i % 4], region: regions[i % 4] } })),
});

const onlyTexts = { modes: { sms: { channel: "spare", retries: "10m" } }, arms: [{ modes: ["sms"] }], questionnaires: { main: { sms: [{ messages: ["Hello {{first_name}}"] }] } } };

export async function surveys(weir) {
  const put = async (name, body, crowd) => {
    await weir.api("PUT", `/v1/surveys/${name}`, body);
    if (crowd) await weir.api("POST", `/v1/surveys/${name}/respondents`, crowd);
  };
  await put("vaccines", definition("Vaccines, by region", {
    quotas: regions.map((region, i) => ({ where: { region: { in: [region] } }, quota: [6, 20, 24, 16][i] })),
    limit_per_minute: 600,
  }), people(5000, 160));
  await put("quick", definition("A short one", onlyTexts), people(5300, 3));
  await put("water", definition("Clean water", { schedule: hours, cutoff: 200 }), people(5400, 40));
  await put("harvest", definition("Harvest", { schedule: hours }), people(5500, 25));
  await put("plain", definition("For those without scripts", onlyTexts), people(5600, 5));
  await put("empty", definition("Without respondents"));
  await weir.api("POST", "/v1/surveys/vaccines:launch");
  await weir.api("POST", "/v1/surveys/quick:launch");
  const of = async (name) => (await weir.get(`/v1/surveys/${name}/respondents?limit=500`)).respondents;
  for (const r of await of("quick")) await weir.api("POST", `/v1/surveys/quick/respondents/${r.id}/disposition`, { disposition: "completed" });
  await progress(weir, await soon(async () => {
    const active = (await of("vaccines")).filter((r) => r.status === "active");
    return active.length >= 40 && active;
  }, "respondents of a survey"));
}

// progress reports the results of conversations.
async function progress(weir, active) {
  const steps = ["completed", "completed", "started", "completed", "refused", "interim partial", "completed", "ineligible", "completed", "contacted"];
  await Promise.all(active.slice(0, 50).map((r, i) =>
    weir.api("POST", `/v1/surveys/vaccines/respondents/${r.id}/disposition`, { disposition: steps[i % steps.length] })
      .catch((error) => { if (!/ 409 /.test(error.message)) throw error; }))); // its quota is full, or it is over
}
