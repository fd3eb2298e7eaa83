/** The links of an agent to its broker. */

import { describe, expect, it } from 'vitest';
import type { AgentContext } from '../../src/agent/agent-context.ts';
import { createMonitorLink, createReleaseBrokers } from '../../src/agent/monitor-link.ts';
import type { Broker, BrokerOptions } from '../../src/domain/ports.ts';
import { buildMonitorConfig } from '../mqtt/monitor-fixture.ts';

describe('the links of one agent', () => {
  // The broker would drop the link that releases a device first, and the agent read the release as a press of its button, over the other.
  it('have one keepalive', () => {
    const opened: BrokerOptions[] = [];
    const broker = { state: { kind: 'offline' }, watchState: () => () => {}, start() {} } as unknown as Broker;
    const open = (options: BrokerOptions) => {
      opened.push(options);
      return broker;
    };
    const config = buildMonitorConfig('mqtt://127.0.0.1');
    const context = { config, world: { broker: open } } as unknown as AgentContext;
    createMonitorLink(context).start();
    createReleaseBrokers(context)('car', { topic: 'car/set', payload: 'ON', retain: false });
    expect(opened.map(({ keepalive }) => keepalive)).toEqual([undefined, undefined]);
  });
});
