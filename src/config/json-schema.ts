/** The JSON schema of the configuration, for editors; the rules between options are in `config-rules.ts`. */

import { OPTIONS } from './options.ts';
import { buildSectionSchema } from './read-section.ts';
import type { JsonSchema } from './value-type.ts';

export const buildConfigSchema = (): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'gridtide configuration',
  ...buildSectionSchema(OPTIONS),
});
