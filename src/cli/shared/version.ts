/** The version, as `package.json` tells it; a test holds the two together. */

export const VERSION = '0.1.0';
