// The cleanest hour of the coming day for a place, and the rates of the last three days.
// Usage: SIGNAL_URL=… SIGNAL_USER=… SIGNAL_PASSWORD=… node client.mjs LATITUDE LONGITUDE
import { createClient, days, failureText, formatInstant, toInstant, toPlace } from 'gridtide/client';

const { SIGNAL_URL, SIGNAL_USER, SIGNAL_PASSWORD } = process.env;
const client = createClient({
  url: SIGNAL_URL ?? 'http://127.0.0.1:8080',
  username: SIGNAL_USER ?? 'owner',
  password: SIGNAL_PASSWORD ?? 'clean-grid-1',
  onWarning: (message) => console.error(message),
});

// Every call resolves to an outcome: a value, or a failure that says why.
function unwrap(outcome) {
  if (outcome.ok) return outcome.value;
  throw new Error(failureText(outcome.failure));
}

try {
  const place = toPlace(Number(process.argv[2]), Number(process.argv[3]));
  if (typeof place === 'string') throw new Error(place);
  const signalType = 'co2_moer';
  const { region, regionFullName } = unwrap(await client.regionFromLoc({ place, signalType }));
  console.log(`region: ${region} (${regionFullName})`);

  const forecast = unwrap(await client.forecast({ region, signalType, horizonHours: 24 }));
  const cleanest = forecast.points.reduce((best, point) => (point.value < best.value ? point : best));
  console.log(`cleanest: ${formatInstant(cleanest.at)}, ${Math.round(cleanest.value)} ${forecast.units}`);

  // A range of any length: the client splits it, keeps the rate limits and repeats what fails for a moment.
  const end = forecast.generatedAt;
  let values = 0;
  for await (const piece of client.historyRange({ region, signalType, start: toInstant(end - days(3)), end }))
    values += unwrap(piece).points.length;
  console.log(`history: ${values} values`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await client.close();
}
