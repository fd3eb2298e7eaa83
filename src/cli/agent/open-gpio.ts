/** Opens the GPIO lines of a configuration through the interface that it forces, or that works here. */

import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { LocatedConfig } from '../../config/config-paths.ts';
import { listOutputLines } from '../../domain/levels.ts';
import type { Log, Ports } from '../../domain/ports.ts';

/** In the state directory: where the holder of the lines listens when no service runs it. */
const LINES_SOCKET = 'lines.sock';

export const usesGpio = ({ loads }: Pick<Config, 'loads'>) =>
  loads.some(({ output }) => listOutputLines(output).length > 0);

/** The modules of GPIO are loaded for loads on its lines alone. */
export async function openGpio(config: LocatedConfig, log: Log): Promise<Pick<Ports, 'pins' | 'failsafe'>> {
  if (!usesGpio(config)) return {};
  const { chooseGpioInterface, createGpio } = await import('../../platform/gpio-interface.ts');
  const chosen = await chooseGpioInterface(config.gpio);
  log('debug', `GPIO lines through ${chosen === 'onoff' ? 'onoff' : 'the character device'}`, { gpio: chosen });
  return createGpio(chosen, join(config.state, LINES_SOCKET));
}
