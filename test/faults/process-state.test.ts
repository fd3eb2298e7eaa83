/** Rows 70 and 71 of the fault table on the agent as a process: its state directory cannot be used, from the start or suddenly. */

import { spawnSync } from 'node:child_process';
import { rename, rm, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import {
  type AgentSetup,
  bundleAgentForTests,
  createAgentSetup,
  isOnline,
  PLUG_STATE_TOPIC,
  publishOverride,
  startAgentProcess,
} from './agent-setup.ts';

const program = bundleAgentForTests();

async function switches({ spy }: AgentSetup, level: 'on' | 'off') {
  spy.clear();
  await publishOverride(spy, level);
  await spy.waitFor(({ topic, text }) => topic === PLUG_STATE_TOPIC && text === level);
}

describeWithMosquitto('a state directory that cannot be used', () => {
  it('71 from the start: the plug is switched all the same, it is said once, and over when the directory is there', async () => {
    const house = await createAgentSetup();
    await writeFile(house.state, 'a file in its place');
    const agent = startAgentProcess(program, house);
    await house.spy.waitFor(isOnline);
    for (const level of ['on', 'off', 'on'] as const) await switches(house, level);
    const problems = agent.lines.filter((line) => /"subject":"storage"/.test(line)).map((line) => JSON.parse(line).msg);
    expect(problems).toEqual([expect.stringMatching(/state cannot be used \(E\w+\): .*the loads go on from memory/)]);
    await rm(house.state);
    await switches(house, 'off');
    await agent.waitForLine(/storage: well again/);
    expect(await agent.terminate()).toBe(0);
  });

  it('70 gone in the middle of a life: the same, and what is remembered afterwards is the latest', async () => {
    const house = await createAgentSetup({ onStop: 'hold' });
    const agent = startAgentProcess(program, house);
    await house.spy.waitFor(isOnline);
    await switches(house, 'on');
    await rename(house.state, `${house.state}-away`);
    await writeFile(house.state, 'a file in its place');
    for (const level of ['off', 'on', 'off'] as const) await switches(house, level);
    expect(agent.lines.filter((line) => /"level":"warn".*"subject":"storage"/.test(line)).length).toBe(1);
    await rm(house.state);
    await rename(`${house.state}-away`, house.state);
    await switches(house, 'on');
    await agent.waitForLine(/storage: well again/);
    expect(await agent.terminate()).toBe(0);
    const { stdout } = spawnSync(process.execPath, [program.path, 'why', 'plug', '--config', house.config], {
      encoding: 'utf8',
    });
    expect(stdout).toMatch(/plug.*on/);
  });
});
