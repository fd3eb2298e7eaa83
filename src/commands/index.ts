/** The list of commands: name, one line, and how to load the file. Loads none of them itself. */

import type { CommandModule } from './command.ts';

export interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  region: { summary: 'which region a place lies in', load: () => import('./region.ts') },
  map: { summary: 'the region map held: download, import, show', load: () => import('./map.ts') },
  plan: { summary: 'the best schedule for a job, from a saved forecast', load: () => import('./plan.ts') },
  reference: { summary: 'the whole service interface on loopback', load: () => import('./reference.ts') },
};
