/** Faults of commands over MQTT, rows 42 to 46, 49 and 51 of the fault table: none of them ever moves a load. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Instant } from '../../src/domain/units.ts';
import { acceptsCommands } from '../../src/mqtt/parse-command.ts';
import { createVirtualClock } from '../../src/simulation/virtual-clock.ts';
import { describeWithMosquitto, startMosquitto } from '../doubles/mosquitto.ts';
import { type MqttSpy, startMqttSpy } from '../doubles/mqtt-spy.ts';
import { startProcess } from '../doubles/running-process.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import { startTcpProxy } from '../doubles/tcp-proxy.ts';
import { type MonitorFixtureOptions, startMonitorFixture } from '../mqtt/monitor-fixture.ts';
import { createTestRandom } from './test-random.ts';

const SET = 'gridtide/cellar/loads/car/set';
const GOOD = '"command":"override","level":"on","for":"1h"';

const saysOnline = (spy: MqttSpy) =>
  spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/availability' && text === 'online');
/** Answers come in the order of the commands, so the answer to this one says that all before it are done with. */
async function after(spy: MqttSpy, id: string) {
  await spy.publish(SET, `{"id":"${id}","command":"clear"}`);
  await spy.waitFor(({ topic, text }) => topic.endsWith('car/result') && JSON.parse(text).id === id);
}

async function house(options: MonitorFixtureOptions = {}) {
  const mosquitto = stopAfterTest(await startMosquitto());
  const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
  const made = stopAfterTest(startMonitorFixture(mosquitto.url, options));
  await saysOnline(spy);
  return { ...made, mosquitto, spy };
}

const retainedOn = async (url: string, topic: string) => {
  const spy = stopAfterTest(await startMqttSpy(url));
  await spy.publish('end/of/list', 'x');
  await spy.waitFor((message) => message.topic === 'end/of/list');
  return spy.messages.find((message) => message.topic === topic && message.retained)?.text;
};

describeWithMosquitto('commands over MQTT', () => {
  it('row 42: a stored command is never carried out, at the start, live, or after a reconnect, and is removed', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    await spy.publish(SET, `{${GOOD}}`, { retain: true });
    const made = stopAfterTest(startMonitorFixture(mosquitto.url));
    await saysOnline(spy);
    expect(await retainedOn(mosquitto.url, SET)).toBeUndefined();

    await spy.publish(SET, `{${GOOD}}`, { retain: true });
    const answer = await spy.waitFor(({ topic }) => topic.endsWith('car/result'));
    expect(JSON.parse(answer.text)).toMatchObject({ id: null, ok: false });
    expect(answer.text).toMatch(/a retained command is never carried out/);
    await after(spy, 'end');
    expect(made.commands.map(({ kind }) => kind)).toEqual(['clear']);
  });

  it('row 43: a command that comes twice, from the wire or with its id, is carried out once', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    const DUPLICATE = 0x08;
    // Every command passes a second time, as a broker repeats what was not acknowledged.
    const wire = stopAfterTest(
      await startTcpProxy(mosquitto.port, (chunk) => {
        if (chunk[0] === undefined || chunk[0] >> 4 !== 3 || !chunk.includes('override')) return [chunk];
        const again = Buffer.from(chunk);
        again[0] = chunk[0] | DUPLICATE;
        return [chunk, again];
      }),
    );
    const made = stopAfterTest(startMonitorFixture(`mqtt://127.0.0.1:${wire.port}`));
    await saysOnline(spy);
    // One at a time: two packets in one piece of the wire would be repeated as one.
    const answers = () => spy.messages.filter(({ topic }) => topic.endsWith('/result')).length;
    for (const [n, text] of [`{"id":"a",${GOOD}}`, `{${GOOD}}`, `{"id":"a",${GOOD}}`].entries()) {
      await spy.publish(SET, text);
      await spy.waitFor(() => answers() === 2 * n + 2);
    }
    await after(spy, 'end');
    expect(made.commands.map(({ kind }) => kind)).toEqual(['override', 'override', 'clear']);
  });

  it('row 43: a command that comes once more after a later one does not undo it', async () => {
    const { commands, spy } = await house();
    const off = '"command":"override","level":"off","for":"1h"';
    // As after a reconnect, when what was sent before is sent again behind what came since.
    for (const text of [`{"id":"a",${GOOD}}`, `{"id":"b",${off}}`, `{"id":"a",${GOOD}}`, `{"id":"b",${off}}`])
      await spy.publish(SET, text);
    await after(spy, 'end');
    expect(commands.map((one) => ('level' in one ? one.level : one.kind))).toEqual(['on', 'off', 'clear']);
  });

  it('row 43: what only turns over is no command: carried out twice it would be none', async () => {
    const { commands, spy } = await house();
    for (const text of ['{"command":"toggle"}', '{"command":"override","level":"toggle"}', 'TOGGLE'])
      await spy.publish(SET, text);
    await after(spy, 'end');
    expect(commands.map(({ kind }) => kind)).toEqual(['clear']);
  });

  it('row 44: a command from the far past or the future is refused, one without a time counts when it arrives', async () => {
    const { commands, spy } = await house();
    const at = (offset: number) => new Date(Date.now() + offset * 1_000).toISOString();
    for (const time of [at(-61), at(-86_400), '1970-01-01T00:00:00Z', '2014-01-01T00:00:00Z', at(90)])
      await spy.publish(SET, `{"time":"${time}",${GOOD}}`);
    await after(spy, 'end');
    expect(commands.map(({ kind }) => kind)).toEqual(['clear']);
    const answers = spy.messages
      .filter(({ topic }) => topic.endsWith('car/result'))
      .map(({ text }) => JSON.parse(text));
    expect(answers.filter(({ ok }) => ok).length).toBe(1);
  });

  it('row 45: oversized, binary, deep and malicious commands get a no, and the house lives on', async () => {
    const { mosquitto, commands, logLines } = await house();
    const random = createTestRandom('row 45');
    const seed = Math.floor(random.fraction() * 2 ** 31);
    const payloads = fc.sample(
      fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
        fc.json({ maxDepth: 20 }).map((text) => Buffer.from(text)),
        fc.constant(Buffer.from('['.repeat(1_000))),
        fc.constant(Buffer.alloc(60_000, 'x')),
        fc.constant(Buffer.from(`{"__proto__":{${GOOD}}}`)),
        fc.constant(Buffer.from(`{"command":"override","level":"on","constructor":{"prototype":{"level":"on"}}}`)),
      ),
      { numRuns: 5_000, seed },
    );
    const spy = stopAfterTest(await startMqttSpy(mosquitto.url));
    await Promise.all(payloads.map((payload) => spy.publish(SET, payload)));
    // What the gate let through has been read and refused; the rest was dropped as a flood.
    await spy.publish('gridtide/cellar/loads/heating/set', '{"id":"end","command":"clear"}');
    await spy.waitFor(({ topic, text }) => topic.endsWith('heating/result') && JSON.parse(text).id === 'end');
    expect(commands).toEqual([{ load: 'heating', kind: 'clear' }]);
    expect(logLines.some((line) => line.includes('too many commands'))).toBe(true);
    expect(Object.hasOwn(Object.prototype, 'level')).toBe(false);
  });

  it('row 46: names that are no topics leave the link standing', async () => {
    const { broker } = await house();
    const random = createTestRandom('row 46');
    const names = fc.sample(fc.string({ unit: 'binary', maxLength: 40 }), {
      numRuns: 200,
      seed: Math.floor(random.fraction() * 2 ** 31),
    });
    const before = broker.state;
    for (const name of [...names, '+', '#', 'a/#/b', '\0', 'x'.repeat(65_536)])
      await broker.publish(`gridtide/${name}/x`, 'x', { retain: false });
    expect(await broker.publish('', 'x', { retain: false })).toBe(false);
    expect(await broker.publish('still/here', 'x', { retain: false })).toBe(true);
    expect(broker.state).toEqual(before);
  });

  it('row 49: with the shipped access list a stranger cannot command, the one with the right can', async () => {
    const shipped = join(import.meta.dirname, '..', '..', 'systemd', 'mosquitto.acl');
    const mosquitto = stopAfterTest(
      await startMosquitto({
        lines: ['allow_anonymous true', 'password_file DIR/passwords', 'acl_file DIR/acl'],
        files: { acl: readFileSync(shipped, 'utf8'), passwords: '' },
        prepare: (directory) => {
          for (const user of ['gridtide', 'homeassistant', 'guest'])
            execFileSync('mosquitto_passwd', ['-b', join(directory, 'passwords'), user, `${user}-word`]);
        },
      }),
    );
    const as = async (user: string) =>
      stopAfterTest(
        await startMqttSpy(mosquitto.url, { username: user, password: `${user}-word`, protocolVersion: 5 }),
      );
    const made = stopAfterTest(
      startMonitorFixture(mosquitto.url, {
        link: { credentials: async () => ({ username: 'gridtide', password: 'gridtide-word' }) },
      }),
    );
    const owner = await as('homeassistant');
    await saysOnline(owner);
    expect(made.broker.state).toMatchObject({ kind: 'online', denied: [] });
    const guest = await as('guest').catch(() => undefined);
    await guest?.publish(SET, `{"id":"guest",${GOOD}}`).catch(() => {});
    const nobody = stopAfterTest(await startMqttSpy(mosquitto.url, { protocolVersion: 5 }, []));
    await nobody.publish(SET, `{"id":"nobody",${GOOD}}`).catch(() => {});
    await owner.publish('gridtide/cellar/loads/car', '{"level":"forged"}').catch(() => {});
    await owner.publish(SET, `{"id":"owner",${GOOD}}`);
    await owner.waitFor(({ topic, text }) => topic.endsWith('car/result') && JSON.parse(text).id === 'owner');
    expect(made.commands.length).toBe(1);
    expect(owner.messages.some(({ text }) => text.includes('forged'))).toBe(false);
    expect(acceptsCommands({ url: 'mqtt://192.168.1.5', commands: 'auto' })).toBe(false);
  });

  it('row 51: ten thousand commands in a burst; ten are looked at, and one line says so', async () => {
    const mosquitto = stopAfterTest(await startMosquitto());
    const spy = stopAfterTest(
      await startMqttSpy(mosquitto.url, {}, [
        'gridtide/cellar/availability',
        'gridtide/cellar/loads/+/result',
        'flood/over',
      ]),
    );
    const clock = createVirtualClock(Date.UTC(2026, 2, 1) as Instant);
    const { commands, logLines } = stopAfterTest(startMonitorFixture(mosquitto.url, { clock }));
    await saysOnline(spy);
    const flood = `
      import { connectAsync } from 'mqtt';
      const client = await connectAsync('${mosquitto.url}');
      for (let n = 0; n < 10_000; n += 1) client.publish('${SET}', '{"id":"' + n + '",${GOOD.replaceAll('"', '\\"')}}'.replaceAll('\\\\"', '"'), { qos: 0 });
      await client.publishAsync('flood/over', 'x', { qos: 1 });
      await client.endAsync();`;
    stopAfterTest(startProcess(process.execPath, ['--input-type=module', '-e', flood]));
    await spy.waitFor(({ topic }) => topic === 'flood/over');
    await spy.publish('gridtide/cellar/loads/heating/set', '{"id":"end","command":"clear"}');
    await spy.waitFor(({ topic, text }) => topic.endsWith('heating/result') && JSON.parse(text).id === 'end');
    // Time stands still: none of the car is added to the ten, and the last one goes to the heating.
    expect(commands).toHaveLength(11);
    expect(logLines.filter((line) => line.includes('too many'))).toHaveLength(1);
    expect(spy.messages.filter(({ topic }) => topic.endsWith('car/result'))).toHaveLength(11);
  });
});
