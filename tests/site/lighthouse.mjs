// Lighthouse for pages, as on a desktop, one after another in one Chromium:
//   node lighthouse.mjs CHROMIUM '["--flag", ...]' URL... > scores.json
// Answers a list of {accessibility, performance, against: [audits that fail]}. Of performance only what counts is
// measured, the rest is advice.
import { launch } from "chrome-launcher";
import lighthouse, { defaultConfig, desktopConfig } from "lighthouse";

const [chromium, flags, ...urls] = process.argv.slice(2);
const advice = defaultConfig.categories.performance.auditRefs.filter((audit) => !audit.weight).map((audit) => audit.id);
const chrome = await launch({ chromePath: chromium, chromeFlags: ["--headless=new", ...JSON.parse(flags)] });
const options = { port: chrome.port, onlyCategories: ["accessibility", "performance"], skipAudits: advice, disableFullPageScreenshot: true };
const found = [];
for (const url of urls) {
  const { lhr } = await lighthouse(url, options, desktopConfig);
  const { accessibility, performance } = lhr.categories;
  const against = accessibility.auditRefs.map((audit) => audit.id).filter((id) => lhr.audits[id].score === 0);
  found.push({ accessibility: accessibility.score, performance: performance.score, against });
}
await chrome.kill();
process.stdout.write(JSON.stringify(found));
