/** A card for each load: its state, its reason, its job, and the buttons. */

import { formatHoursMinutes } from '../../domain/duration-text.ts';
import { minutes } from '../../domain/units.ts';
import {
  type ClockFormat,
  describeState,
  findExpectedRuns,
  formatNumber,
  getLoad,
  getPlannedRuns,
  type House,
  type Load,
  type LoadDocument,
  listTimeSpans,
  toTitle,
} from './house-model.ts';

export interface CardView {
  readonly house: House;
  readonly now: number;
  readonly format: ClockFormat;
  /** Whether the agent can be asked for something. */
  readonly isEnabled: boolean;
}

export interface CardActions {
  send(load: string, command: object): Promise<void>;
}

const make = <Tag extends keyof HTMLElementTagNameMap>(tag: Tag, text = '', className = '') => {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className !== '') element.className = className;
  return element;
};

/** A reason of the last minute needs no time. */
const MOMENT = 60_000;

/** Text that changes in place, so that focus and reading position stay. */
const setText = (element: HTMLElement, text: string) => {
  if (element.textContent !== text) element.textContent = text;
};

function createButtons(load: Load, send: (command: object) => Promise<void>): HTMLElement {
  const row = make('div', '', 'buttons');
  const title = toTitle(load.name);
  const add = (text: string, label: string, command: () => object) => {
    const button = make('button', text);
    button.type = 'button';
    button.setAttribute('aria-label', `${title}: ${label}`);
    button.addEventListener('click', () => void send(command()));
    row.append(button);
    return button;
  };
  const override = (level: string, length: string) => () => ({ command: 'override', level, for: length });
  add('Run 1 h', 'Run 1 h', override('on', '1h'));
  add('Run 2 h', 'Run 2 h', override('on', '2h'));
  add('Off 2 h', 'Off 2 h', override('off', '2h'));
  add('Automatic', 'Automatic', () => ({ command: 'clear' })).className = 'automatic';
  const pause = add('Pause', 'Pause', () => ({ command: pause.dataset.command ?? 'pause' }));
  pause.className = 'pause';
  if (load.hasGoal || load.type === 'ev') row.append(createArmForm(title, send));
  return row;
}

/** Need and deadline of a job, from now. */
function createArmForm(title: string, send: (command: object) => Promise<void>): HTMLElement {
  const form = make('div', '', 'buttons');
  const choose = (label: string, choices: readonly (readonly [string, string])[]) => {
    const select = make('select');
    select.setAttribute('aria-label', `${title}: ${label}`);
    for (const [value, text] of choices) {
      const option = make('option', text);
      option.value = value;
      select.append(option);
    }
    form.append(select);
    return select;
  };
  const need = choose(
    'need',
    [1, 2, 4, 6, 8].map((hours) => [`${hours}h`, `Need ${hours} h`] as const),
  );
  need.value = '4h';
  const within = choose(
    'ready',
    [4, 8, 12, 16, 24].map((hours) => [`${hours}`, `Ready in ${hours} h`] as const),
  );
  within.value = '12';
  const button = make('button', 'Start job', 'arm');
  button.type = 'button';
  button.setAttribute('aria-label', `${title}: Start job`);
  button.addEventListener('click', () => {
    void send({ command: 'arm', need: need.value, withinHours: Number(within.value) });
  });
  form.append(button);
  return form;
}

function updateButtons(buttons: HTMLElement, load: Load, { paused = false, override, job }: LoadDocument): void {
  const automatic = buttons.querySelector<HTMLButtonElement>('.automatic');
  if (automatic !== null) automatic.hidden = override === 'auto';
  buttons.querySelector('.arm')?.classList.toggle('main', job === null);
  const button = buttons.querySelector<HTMLButtonElement>('.pause');
  if (button === null) return;
  const text = paused ? 'Resume' : 'Pause';
  button.dataset.command = text.toLowerCase();
  button.setAttribute('aria-label', `${toTitle(load.name)}: ${text}`);
  setText(button, text);
}

function formatProgress(done: number, need: number, { powerKw }: Load): string {
  const toKwh = (length: number) => formatNumber((length / 60) * powerKw);
  const toHours = (length: number) => formatHoursMinutes(minutes(length));
  return `${toHours(done)} of ${toHours(need)} (${toKwh(done)} of ${toKwh(need)} kWh, estimated)`;
}

/** Its figures are of the decision, which may be hours old. */
function describeReason({ text, time }: LoadDocument, { now, format }: CardView): string {
  const at = Date.parse(time);
  if (now - at > MOMENT) return `${format.clock(at, now)}: ${text}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const countDoneMinutes = ({ job, running, time }: LoadDocument, now: number): number => {
  const since = running ? Math.max(0, now - Date.parse(time)) / 60_000 : 0;
  return job === null ? 0 : Math.min(job.needMinutes, job.doneMinutes + since);
};

/** Its job, what comes next, and the energy of today. */
function describeJob(load: Load, known: LoadDocument, { house, now, format }: CardView): string {
  const parts: string[] = [];
  if (known.job !== null) {
    const { needMinutes, by } = known.job;
    const progress = formatProgress(countDoneMinutes(known, now), needMinutes, load);
    parts.push(`${progress} by ${format.clock(Date.parse(by), now)}`);
  }
  const planned = listTimeSpans(getPlannedRuns(house, load.name), now, format);
  if (planned !== '') parts.push(`planned ${planned}`);
  const expected = listTimeSpans(findExpectedRuns(house, load.name, now), now, format);
  if (expected !== '') parts.push(`by the forecast ${expected}`);
  if (known.energyTodayKwh !== null) parts.push(`today ${formatNumber(known.energyTodayKwh)} kWh`);
  if (load.observeOnly) parts.push('observed only: nothing is switched');
  const text = parts.join('; ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function createCard(load: Load, actions: CardActions) {
  const card = make('article', '', 'load');
  const heading = make('h2', toTitle(load.name));
  const state = make('span', '', 'state');
  const top = make('div', '', 'row');
  const why = make('p', '', 'why');
  const job = make('p');
  const progress = make('progress');
  progress.setAttribute('aria-label', `Progress of ${toTitle(load.name)}`);
  const answer = make('p');
  answer.setAttribute('role', 'status');
  const buttons = createButtons(load, async (command) => {
    answer.textContent = 'Sent; waiting for the agent…';
    await actions.send(load.name, command).then(
      () => {
        answer.textContent = 'Accepted.';
      },
      (error: Error) => {
        answer.textContent = error.message;
      },
    );
  });
  top.append(heading, state);
  card.append(top, why, job, progress, buttons, answer);
  card.setAttribute('aria-label', toTitle(load.name));

  return {
    card,
    update(view: CardView): void {
      const known = getLoad(view.house, load.name);
      for (const control of card.querySelectorAll<HTMLButtonElement | HTMLSelectElement>('button, select'))
        control.disabled = !view.isEnabled;
      progress.hidden = true;
      if (known === undefined) {
        setText(why, 'Nothing is known of this load yet.');
        return;
      }
      updateButtons(buttons, load, known);
      const word = describeState(known);
      setText(state, word);
      state.dataset.state = word;
      setText(why, describeReason(known, view));
      if (known.job !== null) {
        progress.hidden = false;
        progress.max = known.job.needMinutes;
        progress.value = countDoneMinutes(known, view.now);
      }
      setText(job, describeJob(load, known, view));
    },
  };
}

export function createCards(element: HTMLElement, actions: CardActions) {
  const cards = new Map<string, ReturnType<typeof createCard>>();
  return {
    update(view: CardView): void {
      const loads = view.house.info?.loads ?? [];
      for (const [name, { card }] of cards)
        if (!loads.some((load) => load.name === name)) {
          card.remove();
          cards.delete(name);
        }
      for (const load of loads) {
        const known = cards.get(load.name) ?? createCard(load, actions);
        if (!cards.has(load.name)) element.append(known.card);
        cards.set(load.name, known);
        known.update(view);
      }
    },
  };
}
