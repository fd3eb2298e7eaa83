/** Lives through a scenario from its first moment to its end, and says which invariant broke. */

import { parseLedger } from '../../src/ledger/ledger-lines.ts';
import type { Violation } from './auditor.ts';
import { CREDENTIALS, createHouse, type House } from './house.ts';
import { checkLedger } from './ledger-audit.ts';
import { startLife, stopLife } from './lives.ts';
import { unmountAll } from './modelled-fs.ts';
import type { Scenario } from './scenario.ts';
import { noteTroubles, strike } from './strike.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Of one minute: a map that is imported from a slow disk makes thousands. */
const MOST_EVENTS = 50_000;

export interface ScenarioResult {
  readonly violations: readonly Violation[];
  /** What happened, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly digest: string;
  /** The last lines of the history. */
  readonly tail: readonly string[];
}

/** A crash of the agent reaches none who awaits it, only the process. */
export const crashListeners = new Set<(error: unknown) => void>();

export interface LiveOptions {
  /** Called with each line of the history. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Called at the end of each simulated day. */
  readonly onDay?: (day: number) => void;
}

export async function liveScenario(scenario: Scenario, { onLine, onDay }: LiveOptions = {}): Promise<ScenarioResult> {
  const house = await createHouse(scenario, onLine);
  const { auditor, history, files, clock, reference } = house;
  crashListeners.add(auditor.crashed);
  for (const incident of scenario.incidents) clock.runAt(incident.at, () => strike(house, incident));
  clock.runAt(0, () => startLife(house));
  for (let day = 1; onDay !== undefined && day * 24 <= scenario.hours; day += 1)
    clock.runAt(day * 24 * HOUR, () => onDay(day));
  const checkNow = createCheck(house);
  const end = scenario.hours * HOUR;
  await clock.runUntil(end, checkNow);
  if (auditor.violations.length === 0) {
    files.trouble = undefined;
    stopLife(house, () => {});
    await clock.runUntil(end + MINUTE, checkNow);
  }
  auditor.finish();
  checkFiles(house);
  await reference.close();
  crashListeners.delete(auditor.crashed);
  unmountAll();
  for (const basis of auditor.bases) history.count(`basis ${basis}`);
  history.add('bytes', files.bytesWritten);
  return { violations: auditor.violations, counts: history.counts, digest: history.digest(), tail: history.tail };
}

/** Each minute, and at the end once something broke; false ends the run. */
function createCheck(house: House): () => boolean {
  const { auditor, clock, machine, troubles } = house;
  let checkedAt = 0;
  let events = 0;
  return () => {
    if (auditor.violations.length > 0) return false;
    events += 1;
    if (events > MOST_EVENTS) auditor.fail('bounds', `${events} events since the check before: something spins`);
    if (clock.now() - checkedAt < MINUTE) return true;
    checkedAt = clock.now();
    events = 0;
    noteTroubles(house);
    const { life } = house;
    const isAwake = life?.isStopping === false && life.startedAt !== undefined && life.stall === undefined;
    const aliveSince = isAwake ? Math.max(life.startedAt ?? 0, life.wokenAt) : undefined;
    auditor.check({
      wall: house.scenario.start + clock.now(),
      decisions: aliveSince === undefined ? [] : (life?.agent.snapshot().decisions ?? []),
      aliveSince,
      isClockTrusted: machine.trusted && machine.ahead === 0,
      troubledAt: troubles.anyAt,
      brokerTroubledAt: troubles.brokerAt,
    });
    return auditor.violations.length === 0;
  };
}

/** What is left on the disk: a ledger that agrees with the wires, and no secret. */
function checkFiles({ auditor, files, scenario }: House): void {
  const contents = [...files.names].map(([path, inode]) => [path, new TextDecoder().decode(inode.content())] as const);
  for (const [path, text] of contents) if (!path.startsWith(CREDENTIALS)) auditor.output(path, text);
  if (auditor.violations.length > 0) return;
  const entries = contents
    .filter(([path]) => /^\/state\/ledger-.*\.jsonl$/.test(path))
    .flatMap(([, text]) => parseLedger(text).entries);
  for (const text of checkLedger(scenario, entries, auditor.pieces)) auditor.fail('ledger', text);
}
