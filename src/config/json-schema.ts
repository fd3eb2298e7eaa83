/** The configuration as a JSON schema, for editors: what each row takes. What does not go together only `rules.ts` knows. */

import { OPTIONS } from './options.ts';
import { buildSectionSchema } from './read-section.ts';
import type { JsonSchema } from './value-type.ts';

export const buildConfigSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'gridtide configuration',
  ...buildSectionSchema(OPTIONS),
});
