(* The words in which theorems about functions are stated. Read this file first: it has definitions only. *)
From Coq Require Import Rbase Rfunctions R_sqrt.
Open Scope R_scope.

(* ---- A real inner product space, of any dimension *)

Record space := {
  V : Type; origin : V; plus : V -> V -> V; times : R -> V -> V; ip : V -> V -> R;
  plus_comm : forall x y, plus x y = plus y x;
  plus_assoc : forall x y z, plus x (plus y z) = plus (plus x y) z;
  plus_origin : forall x, plus x origin = x;
  plus_opposite : forall x, plus x (times (-1) x) = origin;
  times_one : forall x, times 1 x = x;
  times_times : forall a b x, times a (times b x) = times (a * b) x;
  times_plus : forall a x y, times a (plus x y) = plus (times a x) (times a y);
  times_sum : forall a b x, times (a + b) x = plus (times a x) (times b x);
  ip_sym : forall x y, ip x y = ip y x;
  ip_plus : forall x y z, ip (plus x y) z = ip x z + ip y z;
  ip_times : forall a x z, ip (times a x) z = a * ip x z;
  ip_pos : forall x, 0 <= ip x x;
  ip_definite : forall x, ip x x = 0 -> x = origin }.

(* x - y, and the length of x. *)
Definition difference (S : space) (x y : V S) : V S := plus S x (times S (-1) y).
Definition norm {S : space} (x : V S) : R := sqrt (ip S x x).

Notation "x [+] y" := (plus _ x y) (at level 50, left associativity).
Notation "x [-] y" := (difference _ x y) (at level 50, left associativity).
Notation "a [*] x" := (times _ a x) (at level 35, right associativity).
Notation "<< x , y >>" := (ip _ x y) (at level 0, x at level 99, y at level 99).

(* ---- Functions: g x is the gradient of f at x, or, where f has none, a subgradient that an oracle returns. A minimiser
   is a point where g is the origin. *)

(* f is mu-strongly convex; with mu = 0 it is convex. *)
Definition strongly_convex {S : space} (mu : R) (f : V S -> R) (g : V S -> V S) : Prop :=
  forall x y, f y >= f x + <<g x, y [-] x>> + mu / 2 * <<y [-] x, y [-] x>>.
(* f lies below a parabola of curvature L through every point: a convex function is L-smooth if and only if it does. *)
Definition upper_smooth {S : space} (L : R) (f : V S -> R) (g : V S -> V S) : Prop :=
  forall x y, f y <= f x + <<g x, y [-] x>> + L / 2 * <<y [-] x, y [-] x>>.
(* f is L-smooth, and need not be convex. *)
Definition smooth {S : space} (L : R) (f : V S -> R) (g : V S -> V S) : Prop :=
  forall x y, Rabs (f y - (f x + <<g x, y [-] x>>)) <= L / 2 * <<y [-] x, y [-] x>>.
(* f is M-Lipschitz. *)
Definition lipschitz {S : space} (M : R) (f : V S -> R) : Prop := forall x y, Rabs (f x - f y) <= M * norm (x [-] y).
(* No value of f is below m. *)
Definition bounded_below {S : space} (m : R) (f : V S -> R) : Prop := forall x, m <= f x.

(* p x is the minimiser of f z + ||z - x||^2 / (2 s) over z. *)
Definition proximal {S : space} (s : R) (f : V S -> R) (p : V S -> V S) : Prop :=
  forall x z, f (p x) + <<p x [-] x, p x [-] x>> / (2 * s) <= f z + <<z [-] x, z [-] x>> / (2 * s).

(* ---- Operators *)

(* A is mu-strongly monotone; with mu = 0 it is monotone. *)
Definition strongly_monotone {S : space} (mu : R) (A : V S -> V S) : Prop :=
  forall x y, <<A x [-] A y, x [-] y>> >= mu * <<x [-] y, x [-] y>>.
(* A is beta-cocoercive. *)
Definition cocoercive {S : space} (beta : R) (A : V S -> V S) : Prop :=
  forall x y, <<A x [-] A y, x [-] y>> >= beta * <<A x [-] A y, A x [-] A y>>.
(* A is L-Lipschitz; with L = 1 it is nonexpansive. *)
Definition lipschitz_operator {S : space} (L : R) (A : V S -> V S) : Prop :=
  forall x y, norm (A x [-] A y) <= L * norm (x [-] y).

(* ---- Numbers and rounds *)

Definition integer (x : R) : Prop := exists z : Z, x = IZR z.
(* The state after n rounds; the round that follows n others may depend on n. *)
Fixpoint after_rounds {A : Type} (round : nat -> A -> A) (start : A) (n : nat) : A :=
  match n with O => start | S m => round m (after_rounds round start m) end.
(* A round may lead to several states: that it leads from the start to a state in n rounds, or in a number of rounds. *)
Inductive after {A : Type} (round : A -> A -> Prop) (start : A) : nat -> A -> Prop :=
| no_round : after round start O start
| one_more n s t : after round start n s -> round s t -> after round start (S n) t.
Definition iterated {A : Type} (round : A -> A -> Prop) (start : A) (count : R) (state : A) : Prop :=
  exists n, count = INR n /\ after round start n state.
