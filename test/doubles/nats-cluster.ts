/** Three nodes of the NATS server on loopback, with JetStream and an MQTT listener each; `GRIDTIDE_NATS` names the program where it is not installed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { killChild } from './kill-child.ts';

const NODES = 3;
const program = process.env.GRIDTIDE_NATS ?? '/usr/sbin/nats-server';

interface NatsNode {
  readonly url: string;
  /** Resident memory in MiB, while it runs. */
  memory(): Promise<number>;
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface NatsCluster {
  readonly nodes: readonly NatsNode[];
  /** Resolves when the nodes have agreed on where streams are, so that an MQTT session can begin. */
  awaitReady(): Promise<void>;
  stop(): Promise<void>;
}

interface NodePorts {
  readonly mqtt: number;
  readonly client: number;
  readonly cluster: number;
  readonly monitor: number;
}

const formatNode = (n: number, directory: string, all: readonly NodePorts[], lines: string) => {
  const own = all[n] as NodePorts;
  const routes = all.map(({ cluster }) => `"nats://127.0.0.1:${cluster}"`).join(', ');
  return `server_name: node-${n}
listen: "127.0.0.1:${own.client}"
http: "127.0.0.1:${own.monitor}"
jetstream { store_dir: "${directory}/node-${n}" }
cluster { name: gridtide, listen: "127.0.0.1:${own.cluster}", routes: [${routes}] }
mqtt { listen: "127.0.0.1:${own.mqtt}" }
${lines}
`;
};

/** `lines`: of the configuration of each node. */
export async function startNatsCluster(lines = ''): Promise<NatsCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'gridtide-nats-'));
  const ports: NodePorts[] = [];
  for (let n = 0; n < NODES; n++)
    ports.push({
      mqtt: await freePort(),
      client: await freePort(),
      cluster: await freePort(),
      monitor: await freePort(),
    });
  const nodes = await Promise.all(
    ports.map((own, n) => createNode(n, own, formatNode(n, directory, ports, lines), directory)),
  );
  for (const node of nodes) await node.start();
  const isReady = async () => {
    const answers = await Promise.all(
      ports.map(({ monitor }) =>
        fetch(`http://127.0.0.1:${monitor}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    );
    return answers.every(Boolean);
  };
  return {
    nodes,
    async awaitReady() {
      while (!(await isReady())) await new Promise((resume) => setTimeout(resume, 100));
    },
    async stop() {
      for (const node of nodes) await node.kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function createNode(n: number, { mqtt }: NodePorts, text: string, directory: string): Promise<NatsNode> {
  const file = join(directory, `node-${n}.conf`);
  await mkdir(join(directory, `node-${n}`), { recursive: true });
  await writeFile(file, text);
  let child: ChildProcess | undefined;
  return {
    url: `mqtt://127.0.0.1:${mqtt}`,
    async memory() {
      const status = await readFile(`/proc/${child?.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    },
    async start() {
      child = spawn(program, ['-c', file, '-l', join(directory, `node-${n}.log`)], { stdio: 'ignore' });
    },
    kill: () => killChild(child),
  };
}
