/** The configuration as a JSON schema, for editors: what each row takes. What does not go together only `rules.ts` knows. */

import type { JsonSchema } from './kind.ts';
import { OPTIONS } from './options.ts';
import { schemaOf } from './sections.ts';

export const jsonSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'gridtide configuration',
  ...schemaOf(OPTIONS),
});
