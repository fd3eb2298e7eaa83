/** Reads the section `tariff`: a table of rates, a file or a topic, in one currency. */

import { getMaxPrice, listDayParts, type TariffTable } from '../domain/tariff.ts';
import { formatLocalTime, formatMonth, WEEKDAY_KEYS } from '../domain/text-format.ts';
import { listType, sectionType } from './read-section.ts';
import { optional, type ReportMistake, required, type ValueType } from './value-type.ts';
import {
  currencyType,
  dailyWindowType,
  monthsType,
  pathType,
  priceType,
  topicType,
  weekdaysType,
} from './value-types.ts';

/** Where the prices of a kilowatt-hour come from. */
export type TariffSource =
  | { readonly kind: 'table'; readonly table: TariffTable }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'topic'; readonly topic: string };

export interface TariffConfig {
  readonly currency: string;
  readonly source: TariffSource;
}

const TARIFF_RATE = {
  price: required(priceType, 'Price of a kilowatt-hour in the currency: 0.31, not 31 cents.'),
  hours: optional(dailyWindowType, 'Hours of the day; default: the whole day.'),
  days: optional(weekdaysType, 'Weekdays; default: every day. Hours past midnight are those of the days named.'),
  months: optional(monthsType, 'Months; default: all.'),
};

const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6];
const EVERY_MONTH = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

const tariffRateType = sectionType(TARIFF_RATE, ({ price, hours, days = EVERY_DAY, months = EVERY_MONTH }) => ({
  price,
  weekdays: days,
  months,
  ...(hours === undefined ? {} : { hours }),
}));

const MAX_RATES = 100;

const TARIFF = {
  currency: required(currencyType, 'Currency of the prices and of every sum.'),
  rates: optional(listType(tariffRateType, MAX_RATES), 'The table: each rate with its hours, days and months.'),
  otherwise: optional(priceType, 'Price of every hour that no rate names.'),
  file: optional(
    pathType,
    'CSV file of start,price lines with ISO 8601 times; read again every hour. In /etc/gridtide its name must end in .csv for that.',
  ),
  topic: optional(topicType, 'MQTT topic with prices ahead, as evcc or Home Assistant integrations publish them.'),
};

/** The first mistake of the table: a price in cents, an hour with two rates or none. */
function findTableMistake(table: TariffTable, currency: string): string | undefined {
  const most = getMaxPrice(currency);
  const prices = [
    ...table.rates.map(({ price }) => price),
    ...(table.otherwise === undefined ? [] : [table.otherwise]),
  ];
  const dear = prices.find((price) => Math.abs(price) > most);
  if (dear !== undefined)
    return `${dear} ${currency} for a kilowatt-hour is above ${most}; is it in cents? write ${dear / 100}`;
  for (const month of EVERY_MONTH)
    for (const weekday of EVERY_DAY)
      for (const { from, to, prices: found } of listDayParts(table, weekday, month)) {
        if (found.length === 1) continue;
        const end = to === 1440 ? '24:00' : formatLocalTime(to);
        const hours = `${WEEKDAY_KEYS[weekday]} ${formatLocalTime(from)}-${end} in ${formatMonth(month)}`;
        if (found.length === 0)
          return `no rate covers ${hours}; add one, or otherwise with the price of all other hours`;
        return `${found.length} rates cover ${hours} (${found.join(' and ')}); each hour needs one`;
      }
  return undefined;
}

export const tariffType: ValueType<TariffConfig> = sectionType(
  TARIFF,
  ({ currency, rates, otherwise, file, topic }, report: ReportMistake): TariffConfig | undefined => {
    const isTable = rates !== undefined || otherwise !== undefined;
    const sources = [isTable, file !== undefined, topic !== undefined].filter((isGiven) => isGiven);
    if (sources.length !== 1) {
      report(
        `names ${sources.length === 0 ? 'no source' : 'several sources'} of prices; expected rates, a file or a topic`,
      );
      return undefined;
    }
    if (file !== undefined) return { currency, source: { kind: 'file', path: file } };
    if (topic !== undefined) return { currency, source: { kind: 'topic', topic } };
    const table = { rates: rates ?? [], ...(otherwise === undefined ? {} : { otherwise }) };
    const mistake = findTableMistake(table, currency);
    if (mistake === undefined) return { currency, source: { kind: 'table', table } };
    report(mistake, 'rates');
    return undefined;
  },
);
