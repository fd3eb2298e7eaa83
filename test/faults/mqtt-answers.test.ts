/** Row 69 over a real broker and a real file system: an answer that the owner hears outlives a power cut at that moment. */

import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { describeWithMosquitto } from '../doubles/mosquitto.ts';
import { afterTest } from '../doubles/stop-after-test.ts';
import { bundleAgentForTests, createAgentSetup, isOffline, isOnline, startAgentProcess } from './agent-setup.ts';
import { canMountImages, createLoopImage } from './loop-image.ts';
import { readRepetitions } from './test-random.ts';

const CUTS = readRepetitions('GRIDTIDE_ANSWER_CUTS', 4);

const canCut = await canMountImages();

describeWithMosquitto('answers to commands', () => {
  const program = bundleAgentForTests();
  it.skipIf(!canCut)(
    `${CUTS} power cuts at the moment of an answer: the override is in force after each`,
    async () => {
      const image = await createLoopImage(16);
      afterTest(() => image.remove());
      const setup = await createAgentSetup();
      const text = await readFile(setup.config, 'utf8');
      await writeFile(setup.config, text.replace(`state: ${setup.state}`, `state: ${image.directory}`));
      const { spy } = setup;
      for (let cut = 0; cut < CUTS; cut += 1) {
        await image.mount();
        const level = cut % 2 === 0 ? 'on' : 'off';
        const first = startAgentProcess(program, setup);
        await spy.waitFor(isOnline);
        const command = { id: `cut-${cut}`, command: 'override', level, for: '2h' };
        await spy.publish('gridtide/cellar/loads/plug/set', JSON.stringify(command));
        const answer = await spy.waitFor(({ topic, text }) => topic.endsWith('/result') && text.includes(command.id));
        image.cutPower();
        expect(JSON.parse(answer.text)).toMatchObject({ ok: true });
        first.signal('SIGKILL');
        await first.exit();
        image.unmount();

        await image.mount();
        spy.clear();
        const second = startAgentProcess(program, setup);
        await spy.waitFor(
          ({ topic, text, retained }) =>
            topic === 'gridtide/cellar/loads/plug' &&
            !retained &&
            JSON.parse(text).why === 'remote-override' &&
            JSON.parse(text).level === level,
        );
        // Its own `online` may still be under way: the next life's is the one after `offline`.
        spy.clear();
        await second.terminate();
        await spy.waitFor(isOffline);
        image.unmount();
        spy.clear();
      }
    },
    300_000 + CUTS * 30_000,
  );
});
