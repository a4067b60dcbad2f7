(* The language of claims, and what its programs compute. Numbers are rational and exact. *)

From Coq Require Import ZArith QArith Qabs Qround Ascii String DecimalString List Bool.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.

(* ---- programs *)

Inductive target := Var (x : string) | Rest (x : string) | Targets (several : list target).

Inductive expression :=
| Name (x : string) | Int (z : Z) | Quote (words : string) | Bool (b : bool) | Absent
| Joined (parts : list expression) (* f"..." *)
| Op (sign : string) (a b : expression)
| Compare (sign : string) (a b : expression)
| Not (a : expression) | And (a b : expression) | Or (a b : expression)
| If_else (condition a b : expression)
| List (entries : list expression)
| Star (several : expression) (* its entries, in a list or call *)
| Dict (entries : list (expression * expression)) (* the key of other dictionaries is Absent *)
| Each (a : expression) (clauses : list clause) (* [a for ... in ... if ...] *)
| Each_key (key a : expression) (clauses : list clause)
| Call (f : expression) (given : list expression) (named : list (string * expression))
| Field (a : expression) (x : string)
| Item (a place : expression)
| Slice (a first last step : expression)
| Lambda (parameters : list parameter) (a : expression)
with clause := In (t : target) (several : expression) | When (condition : expression)
with parameter :=
| Given (x : string) | Default (x : string) (a : expression)
| By_name (x : string) (a : expression) | Required (x : string) (* are passed by name *)
| Others (x : string) | Named_others (x : string).

Inductive statement :=
| Set_to (t : target) (a : expression)
| Put (x : string) (places : list expression) (a : expression) (* x[place][place] = a *)
| For (t : target) (several : expression) (body : list statement)
| While (condition : expression) (body : list statement)
| If (condition : expression) (body other : list statement)
| Return (a : expression) | Do (a : expression) | Break | Continue | Raise
| Def (f : string) (parameters : list parameter) (body : list statement).

Inductive definition :=
| Function_of (f : string) (parameters : list parameter) (body : list statement)
| Constant (x : string) (a : expression)
| Record_of (x : string) (fields : list parameter)
    (methods : list (string * string * list parameter * list statement)). (* with their decorators *)

Coercion Name : string >-> expression.
Coercion Int : Z >-> expression.
Coercion Var : string >-> target.
Coercion Given : string >-> parameter.
Declare Scope source_scope.
Delimit Scope source_scope with source.
Bind Scope source_scope with expression.
Declare Scope sources. Declare Scope targets. Declare Scope parameters.
Delimit Scope sources with sources. Delimit Scope targets with targets. Delimit Scope parameters with parameters.
Notation "a + b" := (Op "+" a b) : source_scope.
Notation "a - b" := (Op "-" a b) : source_scope.
Notation "a * b" := (Op "*" a b) : source_scope.
Notation "a / b" := (Op "/" a b) : source_scope.
Notation "a ^ b" := (Op "**" a b) : source_scope.
Notation "- a" := (Op "-" 0%Z a) : source_scope.
Notation "a <= b" := (Compare "<=" a b) : source_scope.
Notation "a < b" := (Compare "<" a b) : source_scope.
Notation "a >= b" := (Compare ">=" a b) : source_scope.
Notation "a > b" := (Compare ">" a b) : source_scope.
Notation "a == b" := (Compare "==" a b) (at level 70) : source_scope.
Notation "a != b" := (Compare "!=" a b) (at level 70) : source_scope.
Notation "f $ given" := (Call f given%sources nil) (at level 12, left associativity) : source_scope.
Notation "a .[ place ]" := (Item a place) (at level 11, left associativity, format "a .[ place ]") : source_scope.
Notation "a .: x" := (Field a x) (at level 11, left associativity) : source_scope.
Notation "t <~ a" := (Set_to t a%source) (at level 90).
Notation "x =: a" := (@pair string expression x a%source) (at level 90).
Notation "key =>> a" := (@pair expression expression key%source a%source) (at level 90).
Notation "[ ]" := (@nil expression) : sources.
Notation "[ a ]" := (@cons expression a%source nil) : sources.
Notation "[ a ; b ; .. ; c ]" := (@cons expression a%source (@cons expression b%source .. (@cons expression c%source nil) ..)) : sources.
Notation "[ ]" := (@nil target) : targets.
Notation "[ a ]" := (@cons target a nil) : targets.
Notation "[ a ; b ; .. ; c ]" := (@cons target a (@cons target b .. (@cons target c nil) ..)) : targets.
Notation "[ ]" := (@nil parameter) : parameters.
Notation "[ a ]" := (@cons parameter a nil) : parameters.
Notation "[ a ; b ; .. ; c ]" := (@cons parameter a (@cons parameter b .. (@cons parameter c nil) ..)) : parameters.
Arguments List entries%sources. Arguments Joined parts%sources. Arguments Call f%source given%sources named%list. Arguments Put x places%sources a%source.
Arguments Targets several%targets. Arguments Lambda parameters%parameters a%source. Arguments Each a%source clauses%list. Arguments Each_key key%source a%source clauses%list. Arguments Dict entries%list.
Arguments Def f parameters%parameters body%list. Arguments Function_of f parameters%parameters body%list.
Arguments Record_of x fields%parameters methods%list.

(* ---- values. A list is a value: it changes by a new value of its variable. *)

Inductive value :=
| Nothing | Truth (b : bool) | Number (q : Q) | Text (words : string)
| Values (several : list value) | Table (entries : list (value * value))
| Object (kind : string) (fields : list (string * value))
| Function (parameters : list parameter) (body : list statement) (known : list (string * value))
| Kind (x : string) (fields : list parameter)
    (methods : list (string * string * list parameter * list statement))
| Method (f self : value) | Word (name : string)
| Point (coordinates : list Q) | Root (square : Q) (* a distance, which is only squared *)
| Known_at (start minimiser : list Q) (minimum : Q) (triplets : list (list Q * list Q * Q))
  (* a function: where it is asked, its point, gradient and value *)
| Line (holds : bool) | Excluded. (* of a line whose own hypothesis fails *)

Definition known := list (string * value).

(* A hypothesis may fail (Outside); what has no value Fails. *)
Inductive result (A : Type) := Found (a : A) | Outside | Fails.
Arguments Found {A}. Arguments Outside {A}. Arguments Fails {A}.

Definition next {A B} (a : result A) (f : A -> result B) : result B :=
  match a with Found a => f a | Outside => Outside | Fails => Fails end.
Notation "'let!' x ':=' a 'in' b" := (next a (fun x => b)) (at level 200, x pattern, right associativity).

Definition written (z : Z) : string := NilZero.string_of_int (Z.to_int z).

Fixpoint each {A B} (f : A -> result B) (several : list A) : result (list B) :=
  match several with
  | [] => Found []
  | a :: others => let! b := f a in let! found := each f others in Found (b :: found)
  end.

Fixpoint folded {A B} (f : B -> A -> result B) (b : B) (several : list A) : result B :=
  match several with [] => Found b | a :: others => let! b := f b a in folded f b others end.

Fixpoint of_name {A} (x : string) (several : list (string * A)) : option A :=
  match several with
  | [] => None
  | (y, a) :: others => if String.eqb x y then Some a else of_name x others
  end.

Definition or_fails {A} (a : option A) : result A := match a with Some a => Found a | None => Fails end.

Definition number (a : value) : result Q :=
  match a with
  | Number q => Found q
  | Truth b => Found (if b then 1 else 0)%Q
  | _ => Fails
  end.

Definition whole (a : value) : result Z :=
  let! q := number a in
  let q := Qred q in if (Zpos (Qden q) =? 1)%Z then Found (Qnum q) else Fails.

Definition of_whole (z : Z) : value := Number (z # 1).
Definition of_nat (n : nat) : value := of_whole (Z.of_nat n).

Definition truth (a : value) : bool :=
  match a with
  | Nothing => false | Truth b => b | Number q => negb (Qeq_bool q 0)
  | Text words => negb (String.eqb words "") | Values [] => false | Table [] => false | _ => true
  end.

Definition entries (a : value) : result (list value) :=
  match a with
  | Values several => Found several
  | Table several => Found (map fst several)
  | Text words => Found (map (fun c => Text (String c "")) (list_ascii_of_string words))
  | _ => Fails
  end.

Fixpoint same (a b : value) : bool :=
  match a, b with
  | Nothing, Nothing => true
  | Text s, Text t => String.eqb s t
  | Values s, Values t =>
      (fix all s t := match s, t with
         | [], [] => true | a :: s, b :: t => same a b && all s t | _, _ => false end) s t
  | Object k s, Object l t => String.eqb k l &&
      (fix all (s t : list (string * value)) := match s, t with
         | [], [] => true | (_, a) :: s, (_, b) :: t => same a b && all s t | _, _ => false end) s t
  | Table s, Table t => Nat.eqb (List.length s) (List.length t) &&
      (fix all (s : list (value * value)) := match s with
         | [] => true
         | (k, a) :: s => existsb (fun entry => same k (fst entry) && same a (snd entry)) t && all s end) s
  | Point s, Point t =>
      (fix all s t := match s, t with
         | [], [] => true | a :: s, b :: t => Qeq_bool a b && all s t | _, _ => false end) s t
  | _, _ => match number a, number b with Found p, Found q => Qeq_bool p q | _, _ => false end
  end.

Fixpoint order (a b : value) : result comparison :=
  match a, b with
  | Text s, Text t => Found (String.compare s t)
  | Values s, Values t =>
      (fix all s t := match s, t with
         | [], [] => Found Eq | [], _ => Found Lt | _, [] => Found Gt
         | a :: s, b :: t => let! found := order a b in
             match found with Eq => all s t | _ => Found found end
         end) s t
  | _, _ => let! p := number a in let! q := number b in Found (p ?= q)%Q
  end.

Definition in_text (a : value) : string :=
  match a with
  | Text words => words
  | Number q => let q := Qred q in
      if Pos.eqb (Qden q) 1 then written (Qnum q) else written (Qnum q) ++ "/" ++ written (Zpos (Qden q))
  | _ => "?"
  end%string.

Definition look_in (entries : list (value * value)) (key : value) : option value :=
  option_map snd (find (fun entry => same key (fst entry)) entries).

Fixpoint with_entry (entries : list (value * value)) (key a : value) : list (value * value) :=
  match entries with
  | [] => [(key, a)]
  | (own, b) :: others => if same key own then (own, a) :: others else (own, b) :: with_entry others key a
  end.

Fixpoint zipped {A B C} (f : A -> B -> C) (s : list A) (t : list B) : list C :=
  match s, t with a :: s, b :: t => f a b :: zipped f s t | _, _ => [] end.

Definition minus (s t : list Q) : list Q := zipped (fun p q => Qred (p - q)) s t.
Definition inner (s t : list Q) : Q := Qred (fold_right Qplus 0%Q (zipped Qmult s t)).

Definition field_of_function (x : string) (start minimiser : list Q) (minimum : Q) (triplets : list (list Q * list Q * Q))
  : result value :=
  let is := String.eqb x in
  if is "start" then Found (Point start) else
  if is "minimiser" then Found (Point minimiser) else
  if is "minimum" then Found (Number minimum) else
  if is "distance" then Found (Root (inner (minus start minimiser) (minus start minimiser))) else
  if is "gradient" then Found (Table (map (fun own => match own with (x, g, _) => (Point x, Point g) end) triplets))
  else Fails.

(* Whether some function that is mu-strongly convex and whose gradient is L-Lipschitz has these triplets and this
   minimiser. That the inequalities suffice for it is not shown here: it is theorem 4 of Taylor, Hendrickx and Glineur,
   Mathematical Programming 161 (2017), 307-345. *)
Definition interpolable (mu L : Q) (minimiser : list Q) (minimum : Q) (triplets : list (list Q * list Q * Q)) : bool :=
  let small := fun i j : list Q * list Q * Q => match i, j with (x, g, f), (y, h, k) =>
    let dx := minus x y in let dg := minus g h in
    Qle_bool ((/ (2 * (1 - mu / L))) * (inner dg dg / L + mu * inner dx dx - 2 * mu / L * inner dg dx))
      (f - k - inner h dx) end in
  negb (Qle_bool L mu) && Qle_bool 0 mu &&
  forallb (fun own => match own with (x, g, _) =>
    Nat.eqb (List.length x) (List.length minimiser) && Nat.eqb (List.length g) (List.length minimiser) end) triplets &&
  forallb (fun i => forallb (small i) triplets) triplets &&
  existsb (fun own => match own with (x, g, f) =>
    same (Point x) (Point minimiser) && forallb (Qeq_bool 0) g && Qeq_bool f minimum end) triplets.

Definition compared (sign : string) (a b : value) : result bool :=
  if String.eqb sign "==" then Found (same a b) else
  if String.eqb sign "!=" then Found (negb (same a b)) else
  if String.eqb sign "in" then
    match a, b with
    | Text part, Text words => Found match String.index 0 part words with Some _ => true | None => false end
    | _, _ => let! several := entries b in Found (existsb (same a) several)
    end else
  let! found := order a b in
  Found match found with
        | Lt => String.eqb sign "<" || String.eqb sign "<="
        | Gt => String.eqb sign ">" || String.eqb sign ">="
        | Eq => String.eqb sign "<=" || String.eqb sign ">="
        end.

(* Sums, whose fractions are reduced only where that is needed to keep them short. *)
Definition multiple (c d : positive) : option Z := (* k where d = k c and k is not large; by the leading bits *)
  let few := (Z.max 0 (Z.log2 (Zpos c) - 80)) in
  let k := (Z.shiftr (Zpos d) few / Z.shiftr (Zpos c) few)%Z in
  if Pos.eqb c 1 then Some (Zpos d) else
  if (80 <? Z.log2 (Zpos d) - Z.log2 (Zpos c))%Z then None else
  if (k * Zpos c =? Zpos d)%Z then Some k else if ((k + 1) * Zpos c =? Zpos d)%Z then Some (k + 1)%Z else None.

Definition sum_of (p q : Q) : Q :=
  let (a, c) := p in let (b, d) := q in
  if Pos.eqb c d then (a + b # c)%Q else
  match multiple c d, multiple d c with
  | Some k, _ => (a * k + b # d)%Q
  | _, Some k => (a + b * k # c)%Q
  | _, _ => Qred (p + q)
  end.

Definition power (a : Q) (n : Z) : result value :=
  if (n <? 0)%Z && Qeq_bool a 0 then Fails else Found (Number (Qred a ^ n)).

Definition scaled (factor : Q) (s : list Q) : value := Point (map (fun q => Qred (factor * q)) s).

Definition computed (sign : string) (a b : value) : result value :=
  match a, b with
  | Values s, Values t => if String.eqb sign "+" then Found (Values (s ++ t)) else Fails
  | Values s, Number q => if String.eqb sign "*"
      then (let! n := whole b in Found (Values (List.concat (repeat s (Z.to_nat n))))) else Fails
  | Table s, Table t => if String.eqb sign "|"
      then Found (Table (fold_left (fun s entry => with_entry s (fst entry) (snd entry)) t s)) else Fails
  | Text s, Text t => if String.eqb sign "+" then Found (Text (s ++ t)) else Fails
  | Point s, Point t =>
      if String.eqb sign "+" then Found (Point (zipped (fun p q => Qred (p + q)) s t)) else
      if String.eqb sign "-" then Found (Point (zipped (fun p q => Qred (p - q)) s t)) else
      if String.eqb sign "@"
      then Found (Number (inner s t)) else Fails
  | Point s, Number q =>
      if String.eqb sign "*" then Found (scaled q s) else
      if String.eqb sign "/" && negb (Qeq_bool q 0) then Found (scaled (/ q) s) else Fails
  | Number q, Point s =>
      if String.eqb sign "*" then Found (scaled q s) else
      if String.eqb sign "-" && Qeq_bool q 0 then Found (scaled (-1) s) else
      if String.eqb sign "+" && Qeq_bool q 0 then Found b else Fails
  | Root square, Number q => if String.eqb sign "**" && Qeq_bool q 2 then Found (Number square) else Fails
  | _, _ =>
      let! p := number a in
      let! q := number b in
      if String.eqb sign "+" then Found (Number (sum_of p q)) else
      if String.eqb sign "-" then Found (Number (sum_of p (- q))) else
      if String.eqb sign "*" then Found (Number (p * q)) else
      if String.eqb sign "**" then (let! n := whole b in power p n) else
      if String.eqb sign "&" then (let! m := whole a in let! n := whole b in Found (of_whole (Z.land m n))) else
      if String.eqb sign "|" then (let! m := whole a in let! n := whole b in Found (of_whole (Z.lor m n))) else
      if String.eqb sign ">>" then (let! m := whole a in let! n := whole b in Found (of_whole (Z.shiftr m n))) else
      if Qeq_bool q 0 then Fails else
      if String.eqb sign "/" then Found (Number (if (Zpos (Qden q) =? 1)%Z then p / q else Qred (p / q))) else
      if String.eqb sign "//" then Found (of_whole (Qfloor (p / q))) else
      if String.eqb sign "%" then Found (Number (Qred (p - q * inject_Z (Qfloor (p / q))))) else Fails
  end.

(* Where a place counts from the end if it is negative. *)
Definition place_in (length : nat) (place : Z) : Z := if (place <? 0)%Z then (Z.of_nat length + place)%Z else place.

Definition item (a place : value) : result value :=
  match a with
  | Values several =>
      let! z := whole place in
      let k := place_in (List.length several) z in
      if (k <? 0)%Z then Fails else or_fails (nth_error several (Z.to_nat k))
  | Table several => or_fails (look_in several place)
  | _ => Fails
  end.

Definition put_at (a place entry : value) : result value :=
  match a with
  | Values several =>
      let! z := whole place in
      let k := place_in (List.length several) z in
      if ((k <? 0) || (Z.of_nat (List.length several) <=? k))%Z then Fails else
      Found (Values (firstn (Z.to_nat k) several ++ entry :: skipn (S (Z.to_nat k)) several))
  | Table several => Found (Table (with_entry several place entry))
  | _ => Fails
  end.

Fixpoint put_in (a : value) (places : list value) (entry : value) : result value :=
  match places with
  | [] => Found entry
  | place :: others => let! own := match others with [] => Found Nothing | _ => item a place end in
      let! changed := put_in own others entry in put_at a place changed
  end.

Definition clipped (length : nat) (a : value) (otherwise : nat) : result nat :=
  match a with
  | Nothing => Found otherwise
  | _ => let! z := whole a in Found (Nat.min length (Z.to_nat (place_in length z)))
  end.

Fixpoint every_nth {A} (n k : nat) (several : list A) : list A :=
  match several with
  | [] => []
  | a :: others => match k with O => a :: every_nth n (pred n) others | S k => every_nth n k others end
  end.

Definition slice (a first last step : value) : result value :=
  let! several := entries a in
  let length := List.length several in
  let! start := clipped length first 0 in
  let! end_ := clipped length last length in
  let own := skipn start (firstn end_ several) in
  match step with
  | Nothing => Found (Values own)
  | _ => let! n := whole step in
      if (0 <? n)%Z then Found (Values (every_nth (Z.to_nat n) 0 own)) else
      match n, first, last with (-1)%Z, Nothing, Nothing => Found (Values (rev several)) | _, _, _ => Fails end
  end.

(* ---- the functions of the language *)

(* The parts of a text between letters of some kind. *)
Fixpoint parts_of (is_between : ascii -> bool) (words : string) : string * list string :=
  match words with
  | "" => ("", [])
  | String c others =>
      let (first, more) := parts_of is_between others in
      if is_between c then ("", first :: more) else (String c first, more)
  end%string.

Definition split_at (is_between : ascii -> bool) (words : string) : list string :=
  let (first, more) := parts_of is_between words in first :: more.

(* The number of a text: digits with at most one point, a fraction of such, or - before it. *)
Fixpoint read_digits (words : string) (found : Z) (below : option positive) : result Q :=
  match words with
  | "" => Found (found # match below with Some d => d | None => 1 end)
  | String c others =>
      let digit := (Z.of_N (N_of_ascii c) - 48)%Z in
      if Ascii.eqb c "." then match below with None => read_digits others found (Some 1%positive) | Some _ => Fails end
      else if ((digit <? 0) || (9 <? digit))%Z then Fails
      else read_digits others (10 * found + digit)%Z (option_map (Pos.mul 10) below)
  end%string.

Definition read_number (words : string) : result Q :=
  let (sign, words) := match words with String "-" others => ((-1)%Q, others) | _ => (1%Q, words) end in
  match split_at (Ascii.eqb "/") words with
  | [whole] => let! q := read_digits whole 0 None in Found (Qred (sign * q))
  | [top; bottom] => let! p := read_digits top 0 None in let! q := read_digits bottom 0 None in
      if Qeq_bool q 0 then Fails else Found (Qred (sign * p / q))
  | _ => Fails
  end.

Definition rounded (q : Q) : Z :=
  let low := Qfloor q in
  match (q - inject_Z low ?= 1 # 2)%Q with
  | Lt => low | Gt => (low + 1)%Z | Eq => if Z.even low then low else (low + 1)%Z
  end.

Definition truncated (q : Q) : Z := if Qle_bool 0 q then Qfloor q else Qceiling q.

Fixpoint combinations {A} (several : list A) (k : nat) : list (list A) :=
  match k, several with
  | O, _ => [[]]
  | S _, [] => []
  | S j, a :: others => map (cons a) (combinations others j) ++ combinations others k
  end.

Fixpoint taken_out {A} (several : list A) : list (A * list A) :=
  match several with
  | [] => []
  | a :: others => (a, others) :: map (fun pair => (fst pair, a :: snd pair)) (taken_out others)
  end.

Fixpoint permutations {A} (n : nat) (several : list A) : list (list A) :=
  match n with
  | O => [[]]
  | S n => flat_map (fun pair => map (cons (fst pair)) (permutations n (snd pair))) (taken_out several)
  end.

Definition products {A} (several : list (list A)) : list (list A) :=
  fold_right (fun own found => flat_map (fun a => map (cons a) found) own) [[]] several.

Fixpoint transposed (n : nat) (rows : list (list value)) : list value :=
  match n with
  | O => []
  | S n => Values (map (hd Nothing) rows) :: transposed n (map (@tl value) rows)
  end.

Definition least_length (rows : list (list value)) : nat :=
  match map (@List.length value) rows with [] => O | n :: others => fold_left Nat.min others n end.

Definition whole_numbers (first count step : Z) : list value :=
  map (fun k => of_whole (first + step * Z.of_nat k)) (seq 0 (Z.to_nat count)).

Fixpoint inserted (goes_before : value -> value -> result bool) (key a : value) (sorted : list (value * value))
  : result (list (value * value)) :=
  match sorted with
  | [] => Found [(key, a)]
  | (own, b) :: others => let! before := goes_before key own in
      if before then Found ((key, a) :: sorted)
      else let! found := inserted goes_before key a others in Found ((own, b) :: found)
  end.

(* The entries of a side, of every depth; a number has one. *)
Fixpoint flat (a : value) : list value :=
  match a with Values several => flat_map flat several | _ => [a] end.

Definition side (length : nat) (a : value) : result (list value) :=
  match a with
  | Values _ => let own := flat a in if Nat.eqb (List.length own) length then Found own else Fails
  | _ => Found (repeat a length)
  end.

(* Whether each entry is at most, at least or equal to the sum of its terms. *)
Definition line (sign : string) (measured : value) (terms : list value) : result value :=
  let length := fold_left Nat.max (map (fun a => List.length (flat a)) (measured :: terms)) O in
  let! own := side length measured in
  let! sides := each (side length) terms in
  let! total := match sides with
    | [] => Fails
    | first :: others => folded (fun total next => each (fun pair => computed "+" (fst pair) (snd pair)) (combine total next)) first others
    end in
  let! hold := each (fun pair => compared sign (fst pair) (snd pair)) (combine own total) in
  if Nat.eqb length 0 then Fails else Found (Line (forallb (fun b => b) hold)).

Definition both (a b : value) : result value :=
  match a, b with Line p, Line q => Found (Line (p && q)) | _, _ => Fails end.

Definition options_of_lines := ["words"; "failure"; "rounding"; "decrease_from"].

Section Library.
Variable call : value -> list value -> result value.

Definition by_key (named : known) (a : value) : result value :=
  match of_name "key" named with Some Nothing | None => Found a | Some key => call key [a] end.

Definition extreme (sign : string) (named : known) (given : list value) : result value :=
  let! several := match given with [a] => entries a | _ => Found given end in
  match several with
  | [] => or_fails (of_name "default" named)
  | first :: others =>
      let! key := by_key named first in
      let! best := folded (fun best a => let! own := by_key named a in
        let! better := compared sign own (fst best) in
        Found (if better then (own, a) else best)) (key, first) others in
      Found (snd best)
  end.

Definition sorted (named : known) (several : list value) : result value :=
  let backwards := match of_name "reverse" named with Some a => truth a | None => false end in
  let! found := folded (fun found a => let! key := by_key named a in
    inserted (compared (if backwards then ">" else "<")) key a found) [] several in
  Found (Values (map snd found)).

Definition terms_of (given : list value) (named : known) : list value :=
  given ++ map snd (filter (fun pair => negb (existsb (String.eqb (fst pair)) options_of_lines)) named).

Definition apply_word (word : string) (given : list value) (named : known) : result value :=
  let is := String.eqb word in
  match given with
  | [] =>
      if is "list" || is "tuple" || is "zip" then Found (Values []) else
      if is "dict" then Found (Table (map (fun pair => (Text (fst pair), snd pair)) named)) else Fails
  | a :: more =>
      if is "suppose" then
        match rev given with
        | Truth true :: _ | Line true :: _ => Found Nothing
        | Truth false :: _ | Line false :: _ => Outside
        | _ => Fails
        end else
      if is "given" then
        match more with
        | [holds; make] => match holds with
            | Truth true | Line true => match call make [] with Outside => Found Excluded | found => found end
            | Truth false | Line false => Found Excluded
            | _ => Fails
            end
        | _ => Fails
        end else
      if is "at_most" then line "<=" a (terms_of more named) else
      if is "at_least" then line ">=" a (terms_of more named) else
      if is "equal" then
        (let! lines := each (fun pair => match pair with Values [l; r] => line "==" l [r] | _ => Fails end) given in
         folded both (Line true) lines) else
      if is "least" then extreme "<" [] [Values given] else
      if is "known" then call a [] else
      if is "iterate" then
        match more with
        | start :: Values rounds :: _ => folded (fun state own => call a [state; own]) start rounds
        | start :: count :: _ => let! n := whole count in
            folded (fun state _ => call a [state]) start (seq 0 (Z.to_nat n))
        | _ => Fails
        end else
      if is "abs" then (let! q := number a in Found (Number (Qabs q))) else
      if is "Fraction" then
        match a, more with
        | Text words, [] => let! q := read_number words in Found (Number q)
        | _, [] => let! q := number a in Found (Number q)
        | _, b :: _ => computed "/" a b
        end else
      if is "int" then (let! q := number a in Found (of_whole (truncated q))) else
      if is "round" then (let! q := number a in Found (of_whole (rounded q))) else
      if is "math.floor" then (let! q := number a in Found (of_whole (Qfloor q))) else
      if is "math.ceil" then (let! q := number a in Found (of_whole (Qceiling q))) else
      if is "math.isqrt" then (let! z := whole a in if (z <? 0)%Z then Fails else Found (of_whole (Z.sqrt z))) else
      if is "math.comb" then
        match more with
        | [b] => let! n := whole a in let! k := whole b in
            let top := fold_left (fun total j => (total * (n - Z.of_nat j) / (Z.of_nat j + 1))%Z) (seq 0 (Z.to_nat k)) 1%Z in
            if ((n <? 0) || (k <? 0))%Z then Fails else Found (of_whole top)
        | _ => Fails
        end else
      if is "divmod" then
        match more with
        | [b] => let! quotient := computed "//" a b in let! rest := computed "%" a b in Found (Values [quotient; rest])
        | _ => Fails
        end else
      if is "math.factorial" then
        (let! n := whole a in if (n <? 0)%Z then Fails else
         Found (of_whole (fold_left (fun total k => (total * Z.of_nat k)%Z) (seq 1 (Z.to_nat n)) 1%Z))) else
      if is "math.gcd" then (let! l := each whole given in Found (of_whole (fold_left Z.gcd l 0%Z))) else
      if is "math.lcm" then (let! l := each whole given in Found (of_whole (fold_left Z.lcm l 1%Z))) else
      if is "itertools.repeat" then
        match more with [b] => let! n := whole b in Found (Values (repeat a (Z.to_nat n))) | _ => Fails end else
      if is "itertools.chain" then (let! l := each entries given in Found (Values (List.concat l))) else
      if is "bool" then Found (Truth (truth a)) else
      if is "max" then extreme ">" named given else
      if is "min" then extreme "<" named given else
      if is "range" then
        let! ends := each whole given in
        match ends with
        | [last] => Found (Values (whole_numbers 0 last 1))
        | [first; last] => Found (Values (whole_numbers first (last - first) 1))
        | [first; last; step] => if (step =? 0)%Z then Fails else
            Found (Values (whole_numbers first ((last - first + step - Z.sgn step) / step) step))
        | _ => Fails
        end else
      if is "functools.reduce" then
        match more with
        | [several] => let! l := entries several in
            match l with [] => Fails | first :: others => folded (fun b c => call a [b; c]) first others end
        | [several; start] => let! l := entries several in folded (fun b c => call a [b; c]) start l
        | _ => Fails
        end else
      if is "map" then
        let! rows := each entries more in
        let! found := each (fun row => let! own := entries row in call a own) (transposed (least_length rows) rows) in
        Found (Values found) else
      if is "filter" then
        match more with
        | [several] => let! l := entries several in
            let! found := each (fun b => let! keep := match a with Nothing => Found b | _ => call a [b] end in
              Found (if truth keep then [b] else [])) l in
            Found (Values (List.concat found))
        | _ => Fails
        end else
      if is "zip" then
        let! rows := each entries given in
        let n := least_length rows in
        let strict := match of_name "strict" named with Some b => truth b | None => false end in
        if strict && negb (forallb (fun row => Nat.eqb (List.length row) n) rows) then Fails
        else Found (Values (transposed n rows)) else
      if is "itertools.product" then
        let! rows := each entries given in
        let! times := match of_name "repeat" named with Some b => whole b | None => Found 1%Z end in
        Found (Values (map Values (products (List.concat (repeat rows (Z.to_nat times)))))) else
      let! several := match a with Table l => if is "len" then Found (map fst l) else entries a | _ => entries a end in
      if is "len" then Found (of_nat (List.length several)) else
      if is "list" || is "tuple" then Found (Values several) else
      if is "sum" then folded (computed "+") (match more, of_name "start" named with b :: _, _ => b | [], Some b => b | [], None => Number 0 end) several else
      if is "math.prod" then folded (computed "*") (match of_name "start" named with Some b => b | None => Number 1 end) several else
      if is "all" then Found (Truth (forallb truth several)) else
      if is "any" then Found (Truth (existsb truth several)) else
      if is "sorted" then sorted named several else
      if is "reversed" then Found (Values (rev several)) else
      if is "enumerate" then
        let! start := match more with b :: _ => whole b | [] => match of_name "start" named with Some b => whole b | None => Found 0%Z end end in
        Found (Values (zipped (fun k b => Values [k; b]) (whole_numbers start (Z.of_nat (List.length several)) 1) several)) else
      if is "itertools.pairwise" then Found (Values (zipped (fun b c => Values [b; c]) several (tl several))) else
      if is "itertools.combinations" then
        match more with [b] => let! k := whole b in Found (Values (map Values (combinations several (Z.to_nat k)))) | _ => Fails end else
      if is "itertools.permutations" then Found (Values (map Values (permutations (List.length several) several))) else
      if is "itertools.accumulate" then
        let! rest := match of_name "initial" named, several with
          | None, first :: others => Found ([first], others) | None, [] => Found ([], [])
          | Some first, _ => Found ([first], several) end in
        let join := fun b c => match more with [f] => call f [b; c] | _ => computed "+" b c end in
        let! found := folded (fun found b => let! next := join (hd Nothing found) b in Found (next :: found)) (fst rest) (snd rest) in
        Found (Values (rev found)) else
      if is "dict" then
        let! pairs := match a with
          | Table l => Found l
          | _ => each (fun pair => match pair with Values [k; b] => Found (k, b) | _ => Fails end) several
          end in
        let others := map (fun pair => (Text (fst pair), snd pair)) named in
        Found (Table (fold_left (fun s entry => with_entry s (fst entry) (snd entry)) (pairs ++ others) []))
      else Fails
  end.

Definition apply_method (word : string) (self : value) (given : list value) : result value :=
  let is := String.eqb word in
  match self, given with
  | Text words, [] => if is "split"
      then Found (Values (map Text (filter (fun part => negb (String.eqb part "")) (split_at (Ascii.eqb " ") words)))) else Fails
  | Text words, [Text (String c "")] => if is "split" then Found (Values (map Text (split_at (Ascii.eqb c) words))) else
      if is "count" then Found (of_nat (List.length (filter (Ascii.eqb c) (list_ascii_of_string words)))) else Fails
  | Text _, _ => Fails
  | Table l, [] =>
      if is "items" then Found (Values (map (fun pair => Values [fst pair; snd pair]) l)) else
      if is "values" then Found (Values (map snd l)) else
      if is "keys" then Found (Values (map fst l)) else Fails
  | Table l, key :: others =>
      if is "get" then Found (match look_in l key with Some a => a | None => hd Nothing others end) else Fails
  | _, [a] =>
      let! several := entries self in
      if is "count" then Found (of_nat (List.length (filter (same a) several))) else
      if is "index" then
        (fix from k l := match l with
           | [] => Fails | b :: l => if same a b then Found (of_nat k) else from (S k) l end) O several
      else Fails
  | _, _ => Fails
  end.
End Library.

(* ---- running a program *)

Inductive signal := Goes | Breaks | Continues | Returns (a : value).

Fixpoint assigned (own : known) (t : target) (a : value) {struct t} : result known :=
  match t with
  | Var x => Found ((x, a) :: own)
  | Rest x => let! several := entries a in Found ((x, Values several) :: own)
  | Targets several =>
      let! l := entries a in
      (fix all (own : known) ts l := match ts, l with
         | [], [] => Found own
         | [Rest x], _ => Found ((x, Values l) :: own)
         | t :: ts, a :: l => let! own := assigned own t a in all own ts l
         | _, _ => Fails
         end) own several l
  end.

Fixpoint run_over {A} (f : A -> known -> result (known * signal)) (several : list A) (own : known)
  : result (known * signal) :=
  match several with
  | [] => Found (own, Goes)
  | a :: others => let! (own, after) := f a own in
      match after with
      | Goes | Continues => run_over f others own
      | Breaks => Found (own, Goes)
      | Returns b => Found (own, Returns b)
      end
  end.

Fixpoint in_turn (f : known -> statement -> result (known * signal)) (body : list statement) (own : known)
  : result (known * signal) :=
  match body with
  | [] => Found (own, Goes)
  | first :: others => let! (own, after) := f own first in
      match after with Goes => in_turn f others own | _ => Found (own, after) end
  end.

Definition name_of (p : parameter) : string :=
  match p with Given x | Default x _ | By_name x _ | Required x | Others x | Named_others x => x end.

(* What the parameters are, where defaults have a value by f. *)
Fixpoint bound (f : expression -> result value) (parameters : list parameter) (given : list value) (named : known)
  : result known :=
  match parameters with
  | [] => match given, named with [], [] => Found [] | _, _ => Fails end
  | p :: others =>
      let x := name_of p in
      let without := filter (fun pair => negb (String.eqb x (fst pair))) named in
      match p, given with
      | Others _, _ => let! own := bound f others [] named in Found ((x, Values given) :: own)
      | Named_others _, [] => Found [(x, Table (map (fun pair => (Text (fst pair), snd pair)) named))]
      | Given _, a :: more | Default _ _, a :: more => let! own := bound f others more named in Found ((x, a) :: own)
      | _, _ =>
          let! a := match of_name x named, p with
            | Some a, _ => Found a
            | None, Default _ e | None, By_name _ e => f e
            | None, _ => Fails
            end in
          let! own := bound f others given without in Found ((x, a) :: own)
      end
  end.

Definition words :=
  ["suppose"; "given"; "at_most"; "at_least"; "equal"; "least"; "known"; "iterate"; "abs"; "all"; "any";
   "bool"; "dict"; "divmod"; "enumerate"; "filter"; "int"; "len"; "list"; "map"; "max"; "min"; "range"; "reversed";
   "round"; "sorted"; "sum"; "tuple"; "zip"; "Fraction"; "functools.reduce"; "itertools.accumulate";
   "itertools.chain"; "itertools.combinations"; "itertools.pairwise"; "itertools.permutations";
   "itertools.product"; "itertools.repeat"; "math.ceil"; "math.comb"; "math.factorial"; "math.floor"; "math.gcd";
   "math.isqrt"; "math.lcm"; "math.prod"].

Section Run.
Variable defined : known.

Definition look (own : known) (x : string) : result value :=
  match of_name x own with
  | Some a => Found a
  | None => match of_name x defined with
    | Some a => Found a
    | None => if existsb (String.eqb x) words then Found (Word x) else Fails
    end
  end.

(* n limits the depth, and the repetitions of while. *)
Fixpoint evaluate (n : nat) (own : known) (e : expression) {struct n} : result value :=
  match n with O => Fails | S n =>
  match e with
  | Name x => look own x
  | Int z => Found (of_whole z)
  | Quote s => Found (Text s)
  | Bool b => Found (Truth b)
  | Absent => Found Nothing
  | Joined parts => let! found := all n own parts in Found (Text (String.concat "" (map in_text found)))
  | Op sign a b => let! a := evaluate n own a in let! b := evaluate n own b in computed sign a b
  | Compare sign a b => let! a := evaluate n own a in let! b := evaluate n own b in
      let! holds := compared sign a b in Found (Truth holds)
  | Not a => let! a := evaluate n own a in Found (Truth (negb (truth a)))
  | And a b => let! a := evaluate n own a in if truth a then evaluate n own b else Found a
  | Or a b => let! a := evaluate n own a in if truth a then Found a else evaluate n own b
  | If_else c a b => let! c := evaluate n own c in evaluate n own (if truth c then a else b)
  | List several => let! found := all n own several in Found (Values found)
  | Star _ => Fails
  | Dict several => let! found := folded (fun found (pair : expression * expression) =>
        let! a := evaluate n own (snd pair) in
        match fst pair, a with
        | Absent, Table more => Found (fold_left (fun s entry => with_entry s (fst entry) (snd entry)) more found)
        | _, _ => let! key := evaluate n own (fst pair) in Found (with_entry found key a)
        end) [] several in Found (Table found)
  | Each a clauses => let! found := over n own clauses a in Found (Values found)
  | Each_key key a clauses => let! found := over n own clauses (List [key; a]) in
      let! pairs := each (fun pair => match pair with Values [k; b] => Found (k, b) | _ => Fails end) found in
      Found (Table (fold_left (fun s entry => with_entry s (fst entry) (snd entry)) pairs []))
  | Call f given named =>
      let! f := evaluate n own f in
      let! given := all n own given in
      let! named := each (fun pair : string * expression => let! a := evaluate n own (snd pair) in
        if String.eqb (fst pair) "**" then
          match a with
          | Table l => each (fun entry => match fst entry with Text x => Found (x, snd entry) | _ => Fails end) l
          | _ => Fails
          end
        else Found [(fst pair, a)]) named in
      apply n f given (List.concat named)
  | Field a x => let! a := evaluate n own a in
      match a with
      | Object kind fields => match of_name x fields with
          | Some b => Found b
          | None => let! made := look [] kind in
              match made with
              | Kind _ _ methods =>
                  match find (fun m => match m with (y, _, _, _) => String.eqb x y end) methods with
                  | Some (_, decorator, parameters, body) =>
                      let f := Function parameters body [] in
                      if String.eqb decorator "property" then apply n f [a] [] else
                      if String.eqb decorator "staticmethod" then Found f else Found (Method f a)
                  | None => Fails
                  end
              | _ => Fails
              end
          end
      | Known_at start minimiser minimum triplets => field_of_function x start minimiser minimum triplets
      | Number q => if String.eqb x "numerator" then Found (of_whole (Qnum (Qred q))) else
          if String.eqb x "denominator" then Found (of_whole (Zpos (Qden (Qred q)))) else Fails
      | _ => Found (Method (Word x) a)
      end
  | Item a place => let! a := evaluate n own a in let! place := evaluate n own place in item a place
  | Slice a first last step =>
      let! a := evaluate n own a in let! first := evaluate n own first in
      let! last := evaluate n own last in let! step := evaluate n own step in slice a first last step
  | Lambda parameters a => Found (Function parameters [Return a] own)
  end end
with all (n : nat) (own : known) (several : list expression) {struct n} : result (list value) :=
  match n with O => Fails | S n =>
    let! found := each (fun e => match e with
      | Star a => let! a := evaluate n own a in entries a
      | _ => let! a := evaluate n own e in Found [a]
      end) several in
    Found (List.concat found)
  end
with over (n : nat) (own : known) (clauses : list clause) (a : expression) {struct n} : result (list value) :=
  match n with O => Fails | S n =>
  match clauses with
  | [] => let! found := evaluate n own a in Found [found]
  | In t several :: others =>
      let! several := evaluate n own several in
      let! several := entries several in
      let! found := each (fun b => let! own := assigned own t b in over n own others a) several in
      Found (List.concat found)
  | When c :: others => let! c := evaluate n own c in if truth c then over n own others a else Found []
  end end
with apply (n : nat) (f : value) (given : list value) (named : known) {struct n} : result value :=
  match n with O => Fails | S n =>
  match f with
  | Function parameters body known =>
      let! own := bound (evaluate n known) parameters given named in
      let! (_, after) := in_turn (execute n) body (own ++ known) in
      match after with Returns a => Found a | _ => Found Nothing end
  | Kind x fields _ => let! own := bound (evaluate n []) fields given named in Found (Object x own)
  | Method (Word x) self => apply_method x self given
  | Method f self => apply n f (self :: given) named
  | Word x => apply_word (fun f given => apply n f given []) x given named
  | Table l => match given with [a] => or_fails (look_in l a) | _ => Fails end
  | Known_at _ _ _ triplets => match given with
      | [a] => or_fails (look_in (map (fun own => match own with (x, _, f) => (Point x, Number f) end) triplets) a)
      | _ => Fails
      end
  | _ => Fails
  end end
with execute (n : nat) (own : known) (s : statement) {struct n} : result (known * signal) :=
  match n with O => Fails | S n =>
  match s with
  | Set_to t a => let! a := evaluate n own a in let! own := assigned own t a in Found (own, Goes)
  | Put x places a =>
      let! old := or_fails (of_name x own) in
      let! places := each (evaluate n own) places in
      let! a := evaluate n own a in
      let! changed := put_in old places a in Found ((x, changed) :: own, Goes)
  | For t several body =>
      let! several := evaluate n own several in
      let! several := entries several in
      run_over (fun a own => let! own := assigned own t a in in_turn (execute n) body own) several own
  | While c body =>
      let! holds := evaluate n own c in
      if truth holds then
        let! (own, after) := in_turn (execute n) body own in
        match after with
        | Goes | Continues => execute n own s
        | Breaks => Found (own, Goes)
        | Returns a => Found (own, Returns a)
        end
      else Found (own, Goes)
  | If c a b => let! c := evaluate n own c in in_turn (execute n) (if truth c then a else b) own
  | Return a => let! a := evaluate n own a in Found (own, Returns a)
  | Do a => let! _ := evaluate n own a in Found (own, Goes)
  | Break => Found (own, Breaks)
  | Continue => Found (own, Continues)
  | Raise => Fails
  | Def f parameters body => Found ((f, Function parameters body own) :: own, Goes)
  end end.
End Run.

Definition depth : nat := N.to_nat 10000.

Definition defined_by (program : list definition) : result known :=
  folded (fun found each => match each with
    | Function_of f parameters body => Found ((f, Function parameters body []) :: found)
    | Constant x a => let! a := evaluate found depth [] a in Found ((x, a) :: found)
    | Record_of x fields methods => Found ((x, Kind x fields methods) :: found)
    end) [] program.

(* ---- what a claim says of an instance *)

(* Ends are computed from the quantities before; Absent where there is none. *)
Inductive range :=
| Integers (low high : expression) | Rationals (low high : expression) | Choice (options : list expression)
| Sequences (each : range) (length : expression)
| Function_with (mu L : expression). (* mu-strongly convex, and its gradient is L-Lipschitz *)
Arguments Choice options%sources.

Record claim := {
  program : list definition;
  quantities : list (string * range);
  function : string; (* takes the quantities by their names, or records of them *)
  records : list (string * (string * list string)) }.

Definition within (defined instance : known) (q : Q) (low high : expression) : bool :=
  let ends sign e := match evaluate defined depth instance e with
    | Found Nothing => true
    | Found a => match compared sign a (Number q) with Found holds => holds | _ => false end
    | _ => false
    end in
  ends "<=" low && ends ">=" high.

Fixpoint is_in (defined instance : known) (r : range) (a : value) : bool :=
  match r, a with
  | Integers low high, Number q => (Zpos (Qden (Qred q)) =? 1)%Z && within defined instance q low high
  | Rationals low high, Number q => within defined instance q low high
  | Choice options, _ => existsb (fun e => match evaluate defined depth instance e with
      | Found b => same a b | _ => false end) options
  | Sequences r length, Values several => match evaluate defined depth instance length with
      | Found n => same n (of_nat (List.length several)) | _ => false end && forallb (is_in defined instance r) several
  | Function_with mu L, Known_at start minimiser minimum triplets =>
      match evaluate defined depth instance mu, evaluate defined depth instance L with
      | Found (Number mu), Found (Number L) =>
          Nat.eqb (List.length start) (List.length minimiser) && interpolable mu L minimiser minimum triplets
      | _, _ => false
      end
  | _, _ => false
  end.

Fixpoint are_in (defined so_far : known) (ranges : list (string * range)) (instance : known) : bool :=
  match ranges, instance with
  | [], [] => true
  | (x, r) :: ranges, (y, a) :: instance =>
      String.eqb x y && is_in defined so_far r a && are_in defined (so_far ++ [(y, a)]) ranges instance
  | _, _ => false
  end.

Definition is_inside (c : claim) (instance : known) : bool :=
  match defined_by c.(program) with Found defined => are_in defined [] c.(quantities) instance | _ => false end.

Definition arguments (c : claim) (defined instance : known) : result known :=
  let inside := flat_map (fun own => snd (snd own)) c.(records) in
  let alone := filter (fun pair => negb (existsb (String.eqb (fst pair)) inside)) instance in
  let! made := each (fun own => let! kind := look defined [] (fst (snd own)) in
    let! values := each (fun x => let! a := or_fails (of_name x instance) in Found (x, a)) (snd (snd own)) in
    let! a := apply defined depth kind [] values in Found (fst own, a)) c.(records) in
  Found (alone ++ made).

(* The line of a name, where the hypotheses hold. *)
Definition line_of (c : claim) (name : string) (instance : known) : result value :=
  let! defined := defined_by c.(program) in
  let! f := look defined [] c.(function) in
  let! given := arguments c defined instance in
  let! found := apply defined depth f [] given in
  match found with Table lines => or_fails (look_in lines (Text name)) | _ => Found found end.


(* ---- finite ranges *)

Definition found_or_nothing {A} (a : result (list A)) : list A := match a with Found several => several | _ => [] end.

Fixpoint every_value (defined instance : known) (r : range) : result (list value) :=
  match r with
  | Choice options => each (evaluate defined depth instance) options
  | Integers low high =>
      let! low := evaluate defined depth instance low in let! low := number low in
      let! high := evaluate defined depth instance high in let! high := number high in
      Found (whole_numbers (Qceiling low) (Qfloor high - Qceiling low + 1) 1)
  | Sequences r length =>
      let! length := evaluate defined depth instance length in let! length := whole length in
      let! several := every_value defined instance r in
      Found (map Values (products (repeat several (Z.to_nat length))))
  | _ => Fails
  end.

Fixpoint extended (defined : known) (ranges : list (string * range)) (so_far : known) : result (list known) :=
  match ranges with
  | [] => Found [so_far]
  | (x, r) :: others =>
      let! several := every_value defined so_far r in
      let! found := each (fun a => extended defined others (so_far ++ [(x, a)])) several in
      Found (List.concat found)
  end.

(* All instances of a claim whose ranges are finite. *)
Definition instances (c : claim) : list known :=
  found_or_nothing (let! defined := defined_by c.(program) in extended defined c.(quantities) []).

(* Whether at an instance the line is true, or a hypothesis fails: of the line alone (Excluded), or of the claim. *)
Definition holds_at (c : claim) (name : string) (instance : known) : bool :=
  match line_of c name instance with Found (Line true) | Found Excluded | Outside => true | _ => false end.

Definition is_found_true (a : result value) : bool := match a with Found (Line true) => true | _ => false end.

Definition holds_everywhere (c : claim) (name : string) : bool :=
  forallb (holds_at c name) (instances c) && existsb (fun i => is_found_true (line_of c name i)) (instances c).

Lemma holds_everywhere_ok (c : claim) (name : string) : holds_everywhere c name = true ->
  (forall instance, List.In instance (instances c) ->
    List.In (line_of c name instance) [Found (Line true); Found Excluded; Outside]) /\
  exists instance, List.In instance (instances c) /\ line_of c name instance = Found (Line true).
Proof.
  intros holds. apply andb_true_iff in holds as [all one]. split.
  - intros i inside. apply forallb_forall with (x := i) in all; [| exact inside].
    unfold holds_at in all. destruct (line_of c name i) as [[]| |]; try discriminate; cbn; auto.
    destruct holds; [auto | discriminate].
  - apply existsb_exists in one as (i & inside & one). exists i. split; [exact inside |].
    unfold is_found_true in one. destruct (line_of c name i) as [[]| |]; try discriminate.
    destruct holds; [reflexivity | discriminate].
Qed.

Definition is_true_everywhere (c : claim) (name : string) : bool :=
  forallb (fun i => is_found_true (line_of c name i)) (instances c) && negb (Nat.eqb (List.length (instances c)) 0).

Lemma is_true_everywhere_ok (c : claim) (name : string) : is_true_everywhere c name = true ->
  (forall instance, List.In instance (instances c) -> line_of c name instance = Found (Line true)) /\
  exists instance, List.In instance (instances c).
Proof.
  intros holds. apply andb_true_iff in holds as [all one]. split.
  - intros i inside. apply forallb_forall with (x := i) in all; [| exact inside].
    unfold is_found_true in all. destruct (line_of c name i) as [[]| |]; try discriminate.
    destruct holds; [reflexivity | discriminate].
  - destruct (instances c) as [| i others]; [discriminate |]. exists i. left. reflexivity.
Qed.

Definition applies_nowhere (c : claim) (name : string) : bool :=
  forallb (fun i => match line_of c name i with Found Excluded | Outside => true | _ => false end) (instances c).

Lemma applies_nowhere_ok (c : claim) (name : string) : applies_nowhere c name = true ->
  forall instance, List.In instance (instances c) -> List.In (line_of c name instance) [Found Excluded; Outside].
Proof.
  intros all i inside. apply forallb_forall with (x := i) in all; [| exact inside].
  destruct (line_of c name i) as [[]| |]; try discriminate; cbn; auto.
Qed.
