//! Made-up records: what a reader or a program gets from them; none makes a page leave its bounds.

mod bounds;
mod compare;
mod documented;
mod export;
mod exports;
mod first;
mod gate;
mod hostile;
mod html;
mod k6;
mod lab;
mod ladder;
mod layers;
mod live;
mod old;
mod open_loop;
mod pages;
mod records;
mod requirements;
mod rooms;
mod run;
mod sides;
mod sweep;
mod sweeps;
