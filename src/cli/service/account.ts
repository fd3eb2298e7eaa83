/** `gridtide account`: the account endpoints (specification 4.1); prints a token with `--json` only. */

import { formatCount, inMinutes } from '../../domain/units.ts';
import type { Credentials } from '../../service/api/query-types.ts';
import type { Access, AccessModel } from '../../service/api/response-types.ts';
import { type Arguments, type CommandSpec, selectAction, type Terminal, UsageError } from '../shared/command.ts';
import { openService, type ServiceAccess, serviceOptions, unwrapOutcome } from '../shared/service-access.ts';
import { formatColumns } from '../shared/table.ts';

export const spec = {
  name: 'account',
  positionals: ['register', 'login', 'reset-password', 'access'],
  options: {
    email: { value: 'ADDRESS', help: 'for notices of outages and updates', actions: ['register'] },
    org: { value: 'NAME', help: 'organisation', actions: ['register'] },
    region: { value: 'REGION', help: 'only this region', actions: ['access'] },
    'signal-type': { value: 'TYPE', help: 'only this signal', actions: ['access'] },
    json: { help: 'one JSON document with the names of the interface; for login with the token' },
    ...serviceOptions,
  },
  notes: [
    'The password comes from --password-file or $GRIDTIDE_PASSWORD: at least 8 characters with a letter, a digit and a special character.',
    'example: gridtide account register --url https://… --username cellar --password-file secret --email me@example.org',
  ],
} satisfies CommandSpec;

type Row = keyof typeof spec.options;

type AccountAction = (args: Arguments<Row>, terminal: Terminal, access: ServiceAccess) => Promise<void>;

const print = (terminal: Terminal, args: Arguments<Row>, document: unknown, text: string) =>
  terminal.out(args.flag('json') ? `${JSON.stringify(document)}\n` : `${text}\n`);

async function requireUsername({ username }: ServiceAccess): Promise<string> {
  const name = await username();
  if (name === undefined)
    throw new UsageError('the user name is missing; give --username, --username-file or $GRIDTIDE_USERNAME');
  return name;
}

async function requireCredentials(access: ServiceAccess): Promise<Credentials> {
  const username = await requireUsername(access);
  const password = await access.password();
  if (password === undefined)
    throw new UsageError('the password is missing; give --password-file or $GRIDTIDE_PASSWORD');
  return { username, password };
}

const register: AccountAction = async (args, terminal, access) => {
  const email = args.text('email');
  const org = args.text('org');
  if (email === undefined) throw new UsageError('--email is missing; the service needs an address for its notices');
  const credentials = await requireCredentials(access);
  const answer = unwrapOutcome(
    await access.service.register({ ...credentials, email, ...(org === undefined ? {} : { org }) }),
  );
  print(terminal, args, answer, `${answer.ok}: ${answer.user}`);
};

const login: AccountAction = async (args, terminal, { service }) => {
  const { token, expiresIn } = unwrapOutcome(await service.login());
  print(
    terminal,
    args,
    { token, expires_in_seconds: expiresIn / 1_000 },
    `the service accepts the credentials; a token is valid for ${formatCount(inMinutes(expiresIn), 'minute')} (--json prints it)`,
  );
};

const resetPassword: AccountAction = async (args, terminal, access) => {
  const answer = unwrapOutcome(await access.service.resetPassword({ username: await requireUsername(access) }));
  print(terminal, args, answer, answer.ok);
};

/** The document of specification 2.7. */
const toAccessDocument = ({ signalTypes }: Access) => ({
  signal_types: signalTypes.map(({ signalType, regions }) => ({
    signal_type: signalType,
    regions: regions.map(({ region, regionFullName, parent, period, endpoints }) => ({
      region,
      region_full_name: regionFullName,
      parent,
      data_point_period_seconds: period === undefined ? undefined : period / 1_000,
      endpoints: endpoints.map(({ endpoint, models }) => ({ endpoint, models: models.map(toModelDocument) })),
    })),
  })),
});

const toModelDocument = ({ model, type, dataStart, dataEnd, trainStart, trainEnd }: AccessModel) => ({
  model,
  type,
  data_start: dataStart,
  data_end: dataEnd,
  train_start: trainStart,
  train_end: trainEnd,
});

/** One line per region: its endpoints, models and name. */
function formatAccessTable({ signalTypes }: Access): string {
  const rows = signalTypes.flatMap(({ signalType, regions }) =>
    regions.map(({ region, regionFullName, endpoints }) => {
      const models = new Set(endpoints.flatMap(({ models }) => models.map(({ model }) => model)));
      const names = endpoints.map(({ endpoint }) => endpoint.replace(/^v3\//, ''));
      return [signalType, region, names.join(' '), [...models].join(' '), regionFullName];
    }),
  );
  if (rows.length === 0) return 'the account has no access to this';
  return formatColumns([['signal', 'region', 'endpoints', 'data models', 'name'], ...rows]).join('\n');
}

const printAccess: AccountAction = async (args, terminal, { service }) => {
  const region = args.text('region');
  const signalType = args.text('signal-type');
  const answer = unwrapOutcome(
    await service.myAccess({
      ...(region === undefined ? {} : { region }),
      ...(signalType === undefined ? {} : { signalType }),
    }),
  );
  print(terminal, args, toAccessDocument(answer), formatAccessTable(answer));
};

const actions: Readonly<Record<string, AccountAction>> = {
  register,
  login,
  'reset-password': resetPassword,
  access: printAccess,
};

export async function run(args: Arguments<Row>, terminal: Terminal): Promise<number> {
  const access = await openService(args, terminal, { allowsHalf: args.action === 'reset-password' });
  try {
    await selectAction(actions, args)(args, terminal, access);
    return 0;
  } finally {
    await access.close();
  }
}
