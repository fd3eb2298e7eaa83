/** Row 84 of the fault table: what is secret stands in no output of a real run, whatever fails: not as it is, not percent-encoded, not in base64. */

import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import { startProcess } from '../doubles/running-process.ts';
import {
  type ScriptedRequest,
  type ScriptedResponse,
  scriptedJson,
  startScriptedService,
} from '../doubles/scripted-service.ts';
import { stopAfterTest } from '../doubles/stop-after-test.ts';
import {
  type AgentSetup,
  bundleAgentForTests,
  createAgentSetup,
  isOnline,
  publishOverride,
  startAgentProcess,
} from './agent-setup.ts';

const PASSWORD = 'canary-%pass "wörd/7731';
const BROKER_PASSWORD = 'canary+broker&word=8842';
const WRONG_BROKER_PASSWORD = 'canary~refused?word/5519';
const TOKEN = 'canary.token-9953/abcdefghijklmnop+qrstuvwxyz==';
const SECRETS = [PASSWORD, BROKER_PASSWORD, WRONG_BROKER_PASSWORD, TOKEN];

const program = bundleAgentForTests();

/** The part of the base64 of a longer text that does not depend on what stands around `secret` in it. */
function insideBase64(secret: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const whole = bytes.subarray(before === 0 ? 0 : 3, bytes.length - (bytes.length % 3));
  return whole.toString('base64');
}

const formsOf = (secret: string): readonly string[] => {
  const base64 = [0, 1, 2].map((before) => insideBase64(secret, before));
  const urls = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    encodeURI(secret),
    ...base64,
    ...urls,
  ];
};

const hits = (text: string): string[] =>
  SECRETS.flatMap((secret) => formsOf(secret).filter((form) => text.includes(form)));

/** Says back whatever it was sent, in every way an error may. */
function echo({ headers, path }: ScriptedRequest, status: number): ScriptedResponse {
  const authorization = headers.authorization ?? '';
  const [scheme, proof = ''] = authorization.split(' ');
  const password = scheme === 'Basic' ? Buffer.from(proof, 'base64').toString().replace('owner:', '') : proof;
  const words = `${authorization} ${password} ${encodeURIComponent(password)} ${encodeURIComponent(authorization)}`;
  return scriptedJson({ error: words, message: `no: ${words}` }, status, {
    location: `/elsewhere${path}?token=${authorization}`,
  });
}

type Phase = 'login-refused' | 'server-error' | 'not-found' | 'moved' | 'invalid-response' | 'page';
const isLogin = ({ path }: ScriptedRequest) => path === '/login';
function answer(asked: ScriptedRequest, phase: Phase): ScriptedResponse {
  if (phase === 'login-refused') return echo(asked, 401);
  if (isLogin(asked)) return scriptedJson({ token: TOKEN });
  switch (phase) {
    case 'server-error':
      return echo(asked, 500);
    case 'not-found':
      return echo(asked, 404);
    case 'moved':
      return echo(asked, 302);
    case 'invalid-response':
      return scriptedJson({ region: { [asked.headers.authorization ?? '']: asked.headers.authorization } });
    case 'page':
      return { status: 403, headers: { 'content-type': 'text/html' }, body: `<p>${asked.headers.authorization}</p>` };
  }
}

/** What a log line of the agent shows when the phase has reached it. */
const PHASES: readonly (readonly [Phase, RegExp])[] = [
  ['login-refused', /rejected the credentials/],
  ['server-error', /server error \(500/],
  ['not-found', /rejected the request \(404/],
  ['moved', /a redirect \(302\)/],
  ['invalid-response', /no new map: /],
  ['page', /plan does not include this/],
];

/** Every file below, but for those that hold the words by right. */
async function filesOf({ directory, config }: AgentSetup): Promise<Record<string, string>> {
  const owned = ['username', 'password', 'broker-username', 'broker-password'].map((name) => join(directory, name));
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts: Record<string, string> = {};
  for (const path of paths) if (path !== config && !owned.includes(path)) texts[path] = await readFile(path, 'latin1');
  return texts;
}

/** What anybody on the machine may see of a process. */
const seenFromOutside = async (pid: number) =>
  `${await readFile(`/proc/${pid}/cmdline`, 'utf8')} ${await readFile(`/proc/${pid}/environ`, 'utf8')}`;

/** A systemd-notify that writes down what it is told. */
async function notifyRecorder(directory: string) {
  const bin = join(directory, 'bin');
  const notifiedFile = join(directory, 'notified');
  await mkdir(bin);
  await writeFile(join(bin, 'systemd-notify'), `#!/bin/sh\nprintf '%s\\n' "$*" >>${notifiedFile}\n`);
  await chmod(join(bin, 'systemd-notify'), 0o755);
  return { NOTIFY_SOCKET: join(directory, 'no-socket'), PATH: `${bin}:${process.env.PATH}` };
}

describeWithMosquitto('84 secrets', () => {
  it('the search finds what it looks for, in each disguise', () => {
    for (const secret of SECRETS) {
      const disguises = [
        secret,
        `x=${encodeURIComponent(secret)}`,
        ...['', 'u', 'us', 'user:'].map((before) => Buffer.from(`${before}${secret}!`).toString('base64')),
        Buffer.from(`u:${secret}`).toString('base64url'),
      ];
      for (const text of disguises) expect(hits(`before ${text} after`), text).not.toEqual([]);
    }
  });

  it('84 refused logins, errors that say everything back, a crash: no secret in log, files, MQTT, arguments or status', async () => {
    let phase: Phase = 'login-refused';
    const service = await startScriptedService((asked) => answer(asked, phase));
    stopAfterTest({ stop: () => service.close() });
    const house = await createAgentSetup({
      service: service.url,
      lines: 'logLevel: debug',
      account: { username: 'owner', password: PASSWORD },
      broker: { username: 'agent', password: BROKER_PASSWORD },
    });
    const { spy, directory } = house;
    const env = await notifyRecorder(directory);
    const plugIn = join(directory, 'plug-in.mjs');
    await writeFile(
      plugIn,
      `import { readFileSync } from 'node:fs';
       process.on('SIGUSR2', () => {
         const word = readFileSync(process.env.RUNTIME_DIRECTORY + '/password', 'utf8');
         throw new Error('a crash that knows ' + word + ' and ' + encodeURIComponent(word), { cause: { password: word } });
       });`,
    );
    const texts: Record<string, string> = {};

    for (const [next, words] of PHASES) {
      phase = next;
      spy.clear();
      const agent = startAgentProcess(program, house, {
        agentArguments: ['--now', new Date().toISOString(), '--speed', '600'],
        nodeArguments: ['--import', plugIn],
        env,
      });
      await spy.waitFor(isOnline);
      texts[`ps in ${next}`] = await seenFromOutside(agent.pid);
      await agent.waitForLine(words);
      await spy.waitFor(({ topic, text }) => topic === 'gridtide/cellar/health' && words.test(text));
      await publishOverride(spy, 'on');
      await spy.waitFor(({ topic }) => topic.endsWith('plug/result'));
      if (next === 'login-refused') {
        agent.signal('SIGUSR2');
        await agent.exit();
        expect(agent.lines.join('\n')).toContain('a crash that knows [hidden]');
      } else expect(await agent.terminate()).toBe(0);
      texts[`log in ${next}`] = agent.lines.join('\n');
      texts[`broker in ${next}`] = spy.messages.map(({ topic, text }) => `${topic} ${text}`).join('\n');
    }

    await writeFile(join(directory, 'broker-password'), WRONG_BROKER_PASSWORD);
    const agent = startAgentProcess(program, house, { env });
    await agent.waitForLine(/"subject":"broker"/);
    await agent.terminate();
    texts['log of a refused broker link'] = agent.lines.join('\n');

    // Each secret was really in use.
    expect(service.requests.some((one) => one.headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
    const basic = `Basic ${Buffer.from(`owner:${PASSWORD}`).toString('base64')}`;
    expect(service.requests.some((one) => one.headers.authorization === basic)).toBe(true);
    const files = await filesOf(house);
    expect(Object.keys(files).some((path) => path.includes('control.'))).toBe(true);
    expect(files[join(directory, 'notified')]).toContain('STATUS=');
    for (const [where, text] of Object.entries({ ...texts, ...files })) expect(hits(text), where).toEqual([]);
  });

  //  command
  const COMMANDS = [
    'check',
    'why plug',
    'signal now',
    'region --online',
    'map update',
    'account access',
    'account login',
  ];
  it('84 the commands, told no in every way: no secret in what they print', async () => {
    let phase: Phase = 'login-refused';
    const service = await startScriptedService((asked) => answer(asked, phase));
    stopAfterTest({ stop: () => service.close() });
    const house = await createAgentSetup({ service: service.url, account: { username: 'owner', password: PASSWORD } });
    for (const [next] of PHASES) {
      phase = next;
      // The token is what a login is for.
      const commands = next === 'login-refused' ? COMMANDS : COMMANDS.filter((command) => command !== 'account login');
      for (const command of commands) {
        const run = stopAfterTest(
          startProcess(process.execPath, [program.path, ...command.split(' '), '--config', house.config]),
        );
        await run.exit();
        expect(hits(run.lines.join('\n')), `${command} in ${next}`).toEqual([]);
      }
    }
    expect(service.requests.length).toBeGreaterThan(PHASES.length);
  });
});
