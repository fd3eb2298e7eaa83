/** Checks MQTT topics and filters, and whether a filter covers a topic: mqtt.js checks no publication, and a broker disconnects on a bad one. */

const MAX_TOPIC_BYTES = 65_535;
/** What mosquitto hangs up on beside wildcards: control characters, halves of pairs, code points that are no characters. */
const FORBIDDEN_IN_TOPIC = /[+#]|\p{Cc}|\p{Cs}|\p{Noncharacter_Code_Point}/u;

/** A topic that may be published to or read. */
export const isTopic = (topic: string) =>
  topic !== '' && !FORBIDDEN_IN_TOPIC.test(topic) && Buffer.byteLength(topic) <= MAX_TOPIC_BYTES;

/** What may be read: a topic in which `+` may stand for whole levels. */
export const isTopicFilter = (filter: string) => isTopic(filter.replace(/(?<=^|\/)\+(?=$|\/)/g, 'any'));

export function matchesFilter(filter: string, topic: string): boolean {
  if (!filter.includes('+')) return filter === topic;
  // Beginning and end first: a watcher of ten thousand devices compares each message with all its filters.
  if (!topic.startsWith(filter.slice(0, filter.indexOf('+')))) return false;
  if (!topic.endsWith(filter.slice(filter.lastIndexOf('+') + 1))) return false;
  const levels = topic.split('/');
  const wanted = filter.split('/');
  return wanted.length === levels.length && wanted.every((level, n) => level === '+' || level === levels[n]);
}
