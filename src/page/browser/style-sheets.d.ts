/** The bundler reads style sheets as modules. */
declare module '*.css';
