(* What the files of this folder rest on, proved once: formulas with their values in fractions, polynomials that
   are nonnegative on a box, and inner product spaces. Standard library only. *)
From Coq Require Import QArith Qreals Rbase Rfunctions List Lra Lia.
From Clusterproof Require Import statements.
Import ListNotations.
Open Scope R_scope.

Lemma length_of_map {A B : Type} (f : A -> B) l : length (map f l) = length l.
Proof. induction l; simpl; auto. Qed.
Lemma length_of_app {A : Type} (l m : list A) : length (l ++ m) = (length l + length m)%nat.
Proof. induction l; simpl; auto. Qed.

(* ---- Formulas, and what they mean. A file states its theorem in the usual notation; the formulas below are
   the same, symbol by symbol, which Rocq checks by computation. *)

Inductive formula :=
| Var (n : nat) | Num (z : Z) | Add (a b : formula) | Sub (a b : formula) | Mul (a b : formula) | Div (a b : formula)
| Opp (a : formula) | Pow (a : formula) (n : nat).
Inductive prop :=
| Le (a b : formula) | Lt (a b : formula) | Eq (a b : formula) | Int (a : formula)
| Not (p : prop) | And (p q : prop) | Or (p q : prop) | Imp (p q : prop) | Yes.

Fixpoint den (env : list R) (e : formula) : R :=
  match e with
  | Var n => nth n env 0 | Num z => IZR z
  | Add a b => den env a + den env b | Sub a b => den env a - den env b | Mul a b => den env a * den env b
  | Div a b => den env a / den env b | Opp a => - den env a | Pow a n => den env a ^ n
  end.
Fixpoint holds (env : list R) (p : prop) : Prop :=
  match p with
  | Le a b => den env a <= den env b | Lt a b => den env a < den env b | Eq a b => den env a = den env b
  | Int a => integer (den env a)
  | Not p => ~ holds env p | And p q => holds env p /\ holds env q | Or p q => holds env p \/ holds env q
  | Imp p q => holds env p -> holds env q | Yes => True
  end.

(* ---- Values in fractions *)

Definition op2 {A B : Type} (f : A -> A -> option B) (x y : option A) : option B :=
  match x, y with Some x, Some y => f x y | _, _ => None end.
(* Denominators often divide each other: then no larger ones arise. *)
Definition over (a b : positive) : option Z :=
  let (k, r) := Z.div_eucl (Z.pos a) (Z.pos b) in if (r =? 0)%Z then Some k else None.
Definition plus_q (x y : Q) : Q :=
  if (Qden x =? Qden y)%positive then (Qnum x + Qnum y) # Qden x
  else if (Qden y <? Qden x)%positive
  then match over (Qden x) (Qden y) with Some k => (Qnum x + Qnum y * k) # Qden x | None => (x + y)%Q end
  else match over (Qden y) (Qden x) with Some k => (Qnum x * k + Qnum y) # Qden y | None => (x + y)%Q end.
Definition same_q (x y : Q) : bool := (Qnum (plus_q x (- y)) =? 0)%Z.
Fixpoint qpow (x : Q) (n : nat) : Q := match n with O => 1%Q | S n => (x * qpow x n)%Q end.
Fixpoint evq (vals : list Q) (e : formula) : option Q :=
  match e with
  | Var n => nth_error vals n | Num z => Some (z # 1)
  | Add a b => op2 (fun x y => Some (plus_q x y)) (evq vals a) (evq vals b)
  | Sub a b => op2 (fun x y => Some (plus_q x (- y))) (evq vals a) (evq vals b)
  | Mul a b => op2 (fun x y => Some (x * y)%Q) (evq vals a) (evq vals b)
  | Div a b => op2 (fun x y => if Qeq_bool y 0 then None else Some (x / y)%Q) (evq vals a) (evq vals b)
  | Opp a => match evq vals a with Some x => Some (- x)%Q | None => None end
  | Pow a n => match evq vals a with Some x => Some (qpow x n) | None => None end
  end.
Fixpoint decide (vals : list Q) (p : prop) : option bool :=
  match p with
  | Le a b => op2 (fun x y => Some (Qle_bool x y)) (evq vals a) (evq vals b)
  | Lt a b => op2 (fun x y => Some (negb (Qle_bool y x))) (evq vals a) (evq vals b)
  | Eq a b => op2 (fun x y => Some (Qeq_bool x y)) (evq vals a) (evq vals b)
  | Int a => match evq vals a with
             | Some x => if (Qnum x mod Z.pos (Qden x) =? 0)%Z then Some true else None | None => None end
  | Not p => match decide vals p with Some t => Some (negb t) | None => None end
  | And p q => op2 (fun s t => Some (s && t)%bool) (decide vals p) (decide vals q)
  | Or p q => op2 (fun s t => Some (s || t)%bool) (decide vals p) (decide vals q)
  | Imp p q => op2 (fun s t => Some (negb s || t)%bool) (decide vals p) (decide vals q)
  | Yes => Some true
  end.
(* The value of each definition is given. *)
Fixpoint run (es : list formula) (given vals : list Q) : option (list Q) :=
  match es, given with
  | [], [] => Some vals
  | e :: es, q :: given =>
      match evq vals e with Some r => if same_q r q then run es given (vals ++ [q]) else None | None => None end
  | _, _ => None
  end.
Definition decided (es : list formula) (given : list Q) (p : prop) : bool :=
  match run es given [] with Some vals => match decide vals p with Some t => t | None => false end | None => false end.

Definition agree (vals : list Q) (env : list R) := forall n q, nth_error vals n = Some q -> nth n env 0 = Q2R q.

Lemma Q2R_Z z : Q2R (z # 1) = IZR z.
Proof. unfold Q2R; simpl. lra. Qed.
Lemma Q0 : Q2R 0 = 0. Proof. apply Q2R_Z. Qed.
Lemma Q1 : Q2R 1 = 1. Proof. apply Q2R_Z. Qed.
Lemma over_ok a b k : over a b = Some k -> IZR (Z.pos a) = IZR k * IZR (Z.pos b).
Proof.
  unfold over. pose proof (Z.div_eucl_eq (Z.pos a) (Z.pos b) ltac:(discriminate)) as D.
  destruct (Z.div_eucl (Z.pos a) (Z.pos b)) as [q r]. destruct (r =? 0)%Z eqn:E; try discriminate.
  intro H; injection H as <-. apply Z.eqb_eq in E. rewrite <- mult_IZR. f_equal. lia.
Qed.
Lemma plus_q_ok x y : Q2R (plus_q x y) = Q2R x + Q2R y.
Proof.
  assert (N : forall p, IZR (Z.pos p) <> 0) by (intro; apply not_0_IZR; lia).
  unfold plus_q. destruct (Qden x =? Qden y)%positive eqn:E; [|destruct (Qden y <? Qden x)%positive].
  - apply Pos.eqb_eq in E. unfold Q2R. simpl. rewrite E, plus_IZR. ring.
  - destruct (over _ _) as [k|] eqn:O; [|apply Q2R_plus]. apply over_ok in O. unfold Q2R. simpl.
    rewrite plus_IZR, mult_IZR. pose proof (N (Qden x)) as X. rewrite O in *. field.
    split. apply N. intro K. apply X. rewrite K. ring.
  - destruct (over _ _) as [k|] eqn:O; [|apply Q2R_plus]. apply over_ok in O. unfold Q2R. simpl.
    rewrite plus_IZR, mult_IZR. pose proof (N (Qden y)) as Y. rewrite O in *. field.
    split. apply N. intro K. apply Y. rewrite K. ring.
Qed.
Lemma same_q_ok x y : same_q x y = true -> Q2R x = Q2R y.
Proof.
  intro E. apply Z.eqb_eq in E. pose proof (plus_q_ok x (- y)) as H. unfold Q2R at 1 in H. rewrite E, Q2R_opp in H. lra.
Qed.
Lemma qpow_ok x n : Q2R (qpow x n) = Q2R x ^ n.
Proof. induction n; simpl; rewrite ?Q1, ?Q2R_mult, ?IHn; reflexivity. Qed.
Lemma nonzero q : Qeq_bool q 0 = false -> Q2R q <> 0.
Proof. intros E F. apply Qeq_bool_neq in E. apply E, eqR_Qeq. rewrite F, Q0. reflexivity. Qed.
Lemma is_zero q : Qeq_bool q 0 = true -> Q2R q = 0.
Proof. intro E. apply Qeq_bool_iff, Qeq_eqR in E. rewrite E. apply Q0. Qed.

Lemma evq_ok vals env e : agree vals env -> forall q, evq vals e = Some q -> den env e = Q2R q.
Proof.
  intro A. induction e; simpl; intros q E.
  1: apply A, E.
  1: injection E as <-; symmetry; apply Q2R_Z.
  1-4: destruct (evq vals e1) as [x|], (evq vals e2) as [y|]; simpl in E; try discriminate;
    rewrite (IHe1 x), (IHe2 y) by reflexivity.
  1-3: injection E as <-; rewrite ?plus_q_ok, ?Q2R_opp, ?Q2R_mult; reflexivity.
  2-3: destruct (evq vals e) as [x|]; try discriminate; injection E as <-; rewrite (IHe x) by reflexivity.
  - destruct (Qeq_bool y 0) eqn:Y; try discriminate. injection E as <-. rewrite Q2R_div. reflexivity.
    intro F. apply Qeq_bool_iff in F. congruence.
  - rewrite Q2R_opp. reflexivity.
  - rewrite qpow_ok. reflexivity.
Qed.
Lemma decide_ok vals env p : agree vals env ->
  forall t, decide vals p = Some t -> if t then holds env p else ~ holds env p.
Proof.
  intro A. pose proof (evq_ok vals env) as V.
  induction p as [a b|a b|a b|a|p IH|p IHp q IHq|p IHp q IHq|p IHp q IHq|]; simpl; intros t E.
  1-3: destruct (evq vals a) as [x|] eqn:X, (evq vals b) as [y|] eqn:Y; simpl in E; try discriminate;
    rewrite (V a A x X), (V b A y Y); injection E as <-.
  - destruct (Qle_bool x y) eqn:C. apply Qle_Rle, Qle_bool_iff, C.
    apply Rlt_not_le, Qlt_Rlt, Qnot_le_lt. intro F. apply Qle_bool_iff in F. congruence.
  - destruct (Qle_bool y x) eqn:C; simpl. apply Rle_not_lt, Qle_Rle, Qle_bool_iff, C.
    apply Qlt_Rlt, Qnot_le_lt. intro F. apply Qle_bool_iff in F. congruence.
  - destruct (Qeq_bool x y) eqn:C. apply Qeq_eqR, Qeq_bool_iff, C.
    intro F. apply eqR_Qeq, Qeq_bool_iff in F. congruence.
  - destruct (evq vals a) as [[n d]|] eqn:X; try discriminate. simpl in E.
    destruct (n mod Z.pos d =? 0)%Z eqn:C; try discriminate. injection E as <-.
    rewrite (V a A _ X). exists (n / Z.pos d)%Z. unfold Q2R; simpl.
    apply Z.eqb_eq in C. rewrite (Z.div_mod n (Z.pos d)) at 1 by lia. rewrite C, Z.add_0_r, mult_IZR.
    field. apply not_0_IZR. lia.
  - destruct (decide vals p) as [[]|]; try discriminate; injection E as <-; simpl; specialize (IH _ eq_refl); simpl in IH; tauto.
  - destruct (decide vals p) as [s|], (decide vals q) as [u|]; simpl in E; try discriminate. injection E as <-.
    specialize (IHp _ eq_refl). specialize (IHq _ eq_refl). destruct s, u; simpl in *; tauto.
  - destruct (decide vals p) as [s|], (decide vals q) as [u|]; simpl in E; try discriminate. injection E as <-.
    specialize (IHp _ eq_refl). specialize (IHq _ eq_refl). destruct s, u; simpl in *; tauto.
  - destruct (decide vals p) as [s|], (decide vals q) as [u|]; simpl in E; try discriminate. injection E as <-.
    specialize (IHp _ eq_refl). specialize (IHq _ eq_refl). destruct s, u; simpl in *; tauto.
  - injection E as <-. exact I.
Qed.
Lemma run_ok env es : forall given vals end_, run es given vals = Some end_ ->
  agree vals env -> (forall i, (i < length es)%nat -> nth (length vals + i) env 0 = den env (nth i es (Num 0))) -> agree end_ env.
Proof.
  induction es as [|e es IH]; intros [|q given] vals end_ E A L; simpl in *; try discriminate.
  - injection E as <-. exact A.
  - pose proof (L O ltac:(lia)) as L0. rewrite Nat.add_0_r in L0. destruct (evq vals e) as [r|] eqn:V; try discriminate.
    destruct (same_q r q) eqn:C; try discriminate. apply (IH _ _ _ E).
    + intros n s N. destruct (Nat.lt_ge_cases n (length vals)) as [H|H].
      * rewrite nth_error_app1 in N by exact H. apply A, N.
      * rewrite nth_error_app2 in N by exact H.
        assert (n = length vals) as ->.
        { destruct (n - length vals)%nat as [|[|k]] eqn:K; simpl in N; try discriminate; lia. }
        rewrite Nat.sub_diag in N. injection N as <-. rewrite L0, (evq_ok vals env e A r V).
        apply same_q_ok, C.
    + intros i H. specialize (L (S i) ltac:(lia)). rewrite length_of_app. simpl.
      replace (length vals + 1 + i)%nat with (length vals + S i)%nat by lia. exact L.
Qed.
(* What the exact rules use: if the values are right and show p, p holds. *)
Theorem decided_ok es given p env : decided es given p = true -> map (den env) es = env -> holds env p.
Proof.
  unfold decided. intros E L. destruct (run es given []) as [vals|] eqn:V; try discriminate.
  destruct (decide vals p) as [[]|] eqn:D; try discriminate.
  apply (decide_ok vals env p) with (t := true); [|exact D].
  apply (run_ok env es given [] vals V). intros [|n] q N; discriminate.
  simpl. intros i H. rewrite <- (map_nth (den env) es (Num 0) i), L. apply nth_indep. rewrite <- L, length_of_map. exact H.
Qed.

(* ---- Polynomials in n symbols, the last one outermost: lists of coefficients *)

Fixpoint poly (n : nat) : Type := match n with O => Q | S n => list (poly n) end.
Definition horner (x : R) (l : list R) : R := fold_right (fun c s => c + x * s) 0 l.
Fixpoint ev (n : nat) : poly n -> list R -> R :=
  match n with O => fun q _ => Q2R q | S n => fun p xs => horner (hd 0 xs) (map (fun c => ev n c (tl xs)) p) end.

(* Sums and products that compute a greatest common divisor only where denominators would grow. *)
Definition qadd (x y : Q) : Q := if (Qden x =? Qden y)%positive then (Qnum x + Qnum y) # Qden x else Qred (x + y).
Definition qmul (x y : Q) : Q :=
  match Qden x, Qden y with xH, _ | _, xH => (x * y)%Q | _, _ => Qred (x * y) end.
Fixpoint cst (n : nat) (q : Q) : poly n := match n with O => q | S n => [cst n q] end.
Definition zero (n : nat) : poly n := match n with O => 0%Q | S _ => [] end.
Fixpoint zip {A : Type} (f : A -> A -> A) (p q : list A) : list A :=
  match p, q with [], _ => q | _, [] => p | a :: p, b :: q => f a b :: zip f p q end.
Fixpoint add (n : nat) : poly n -> poly n -> poly n :=
  match n with O => qadd | S n => zip (add n) end.
Fixpoint scale (n : nat) (k : Q) : poly n -> poly n :=
  match n with O => qmul k | S n => map (scale n k) end.
Fixpoint mul (n : nat) : poly n -> poly n -> poly n :=
  match n with
  | O => qmul
  | S n => fun p q => fold_right (fun c s => zip (add n) (map (mul n c) q) (zero n :: s)) [] p
  end.
Fixpoint vanishes (n : nat) : poly n -> bool :=
  match n with O => fun a => Qeq_bool a 0 | S n => forallb (vanishes n) end.
Definition same (n : nat) (p q : poly n) : bool := vanishes n (add n p (scale n (-1) q)).
Fixpoint constant (n : nat) : poly n -> option Q :=
  match n with
  | O => fun a => Some a
  | S n => fun p => match p with [] => Some 0%Q | c :: l => if forallb (vanishes n) l then constant n c else None end
  end.

Lemma qadd_ok x y : Q2R (qadd x y) = Q2R x + Q2R y.
Proof.
  unfold qadd. destruct (Qden x =? Qden y)%positive eqn:E.
  - apply Pos.eqb_eq in E. unfold Q2R. simpl. rewrite E, plus_IZR. ring.
  - rewrite (Qeq_eqR _ _ (Qred_correct _)). apply Q2R_plus.
Qed.
Lemma qmul_ok x y : Q2R (qmul x y) = Q2R x * Q2R y.
Proof.
  unfold qmul. destruct (Qden x), (Qden y); rewrite ?(Qeq_eqR _ _ (Qred_correct _)); apply Q2R_mult.
Qed.
Lemma cst_ok n q : forall xs, ev n (cst n q) xs = Q2R q.
Proof. induction n; simpl; intro xs. reflexivity. rewrite IHn. unfold horner; simpl. ring. Qed.
Lemma zero_ok n xs : ev n (zero n) xs = 0.
Proof. destruct n; simpl. apply Q0. reflexivity. Qed.
Lemma zip_ok {A : Type} (f : A -> A -> A) (v : A -> R) x :
  (forall a b, v (f a b) = v a + v b) ->
  forall p q, horner x (map v (zip f p q)) = horner x (map v p) + horner x (map v q).
Proof.
  intros F p. induction p as [|a p IH]; intros [|b q]; simpl; try (unfold horner; simpl; ring).
  unfold horner in *; simpl. rewrite F, IH. ring.
Qed.
Lemma add_ok n : forall p q xs, ev n (add n p q) xs = ev n p xs + ev n q xs.
Proof.
  induction n; simpl; intros p q xs. apply qadd_ok.
  apply zip_ok. intros. apply IHn.
Qed.
Lemma map_ok {A : Type} (f : A -> A) (v : A -> R) k x :
  (forall a, v (f a) = k * v a) -> forall p, horner x (map v (map f p)) = k * horner x (map v p).
Proof. intros F p. unfold horner. induction p; simpl; rewrite ?IHp, ?F; ring. Qed.
Lemma scale_ok n k : forall p xs, ev n (scale n k p) xs = Q2R k * ev n p xs.
Proof.
  induction n; simpl; intros p xs. apply qmul_ok.
  apply (map_ok (scale n k) (fun c => ev n c (tl xs))). intro. apply IHn.
Qed.
Lemma mul_ok n : forall p q xs, ev n (mul n p q) xs = ev n p xs * ev n q xs.
Proof.
  induction n; simpl; intros p q xs. apply qmul_ok.
  induction p as [|c p IH]; simpl. unfold horner; simpl; ring.
  rewrite (zip_ok (add n) (fun c => ev n c (tl xs))) by (intros; apply add_ok).
  rewrite (map_ok (mul n c) (fun c => ev n c (tl xs)) (ev n c (tl xs))) by (intro; apply IHn).
  unfold horner in *; simpl. rewrite IH, zero_ok. ring.
Qed.
Lemma horner_zero x l : (forall a, In a l -> a = 0) -> horner x l = 0.
Proof.
  unfold horner. induction l as [|a l IH]; simpl; intro Z. reflexivity.
  rewrite IH, (Z a) by auto. ring.
Qed.
Lemma vanishes_ok n : forall p, vanishes n p = true -> forall xs, ev n p xs = 0.
Proof.
  induction n; simpl; intros p E xs. apply is_zero, E.
  apply horner_zero. intros a H. apply in_map_iff in H as [c [<- H]].
  apply IHn. rewrite forallb_forall in E. apply E, H.
Qed.
Lemma same_ok n p q : same n p q = true -> forall xs, ev n p xs = ev n q xs.
Proof.
  intros E xs. pose proof (vanishes_ok n _ E xs) as Z. rewrite add_ok, scale_ok in Z.
  replace (Q2R (-1)) with (-1) in Z by (unfold Q2R; simpl; lra). lra.
Qed.
Lemma rest_zero n l x xs : forallb (vanishes n) l = true -> horner x (map (fun c => ev n c xs) l) = 0.
Proof.
  intro E. apply horner_zero. intros a H. apply in_map_iff in H as [c [<- H]].
  apply vanishes_ok. rewrite forallb_forall in E. apply E, H.
Qed.
Lemma constant_ok n : forall p q, constant n p = Some q -> forall xs, ev n p xs = Q2R q.
Proof.
  induction n; simpl; intros p q E xs. injection E as <-. reflexivity.
  destruct p as [|c l]. injection E as <-. rewrite Q0. reflexivity.
  destruct (forallb (vanishes n) l) eqn:F; try discriminate.
  simpl. unfold horner in *; simpl. fold (horner (hd 0 xs) (map (fun c => ev n c (tl xs)) l)).
  rewrite rest_zero by exact F. rewrite (IHn c q E). ring.
Qed.

(* ---- Bernstein's test: on a box, where x = u low + v high with u + v = 1, or x = low + s, or x = high - s *)

Section Expansion.
Variable n : nat.
Notation P := (poly n).
Fixpoint pascal (k : nat) (c : P) : list P :=
  match k with O => [c] | S k => let l := pascal k c in zip (add n) (l ++ [zero n]) (zero n :: l) end.
Definition mixed (L H : P) (l : list P) : list P :=
  zip (add n) (map (mul n L) l ++ [zero n]) (zero n :: map (mul n H) l).
Fixpoint bernstein (L H : P) (p : list P) : list P :=
  match p with [] => [] | c :: p => zip (add n) (pascal (length p) c) (mixed L H (bernstein L H p)) end.
Fixpoint shifted (L : P) (sign : Q) (p : list P) : list P :=
  match p with
  | [] => []
  | c :: p => let l := shifted L sign p in zip (add n) [c] (zip (add n) (map (mul n L) l) (zero n :: map (scale n sign) l))
  end.

Variable xs : list R.
Notation val := (fun c => ev n c xs).
Variables u v : R.
Fixpoint hval (l : list P) : R := match l with [] => 0 | c :: l => ev n c xs * u ^ length l + v * hval l end.
Lemma zip_length {A : Type} (f : A -> A -> A) p : forall q, length (zip f p q) = Nat.max (length p) (length q).
Proof. induction p as [|a p IH]; intros [|b q]; simpl; auto. Qed.
Lemma hval_zip p : forall q, length p = length q -> hval (zip (add n) p q) = hval p + hval q.
Proof.
  induction p as [|a p IH]; intros [|b q] E; simpl in *; try discriminate. ring.
  injection E as E. rewrite IH, zip_length, <- E, Nat.max_id, add_ok by exact E. ring.
Qed.
Lemma hval_end l : hval (l ++ [zero n]) = u * hval l.
Proof.
  induction l as [|c l IH]; simpl. rewrite zero_ok. ring.
  rewrite IH, length_of_app, Nat.add_1_r. simpl. ring.
Qed.
Lemma hval_map k (f : P -> P) l : (forall c, ev n (f c) xs = k * ev n c xs) -> hval (map f l) = k * hval l.
Proof. intro F. induction l as [|c l IH]; simpl. ring. rewrite F, length_of_map, IH. ring. Qed.
Lemma pascal_ok k c : length (pascal k c) = S k /\ hval (pascal k c) = (u + v) ^ k * ev n c xs.
Proof.
  induction k as [|k [IL IV]]; simpl. split. reflexivity. ring.
  rewrite zip_length, length_of_app; simpl. rewrite IL. split. lia.
  rewrite hval_zip by (rewrite length_of_app; simpl; lia).
  rewrite hval_end. simpl. rewrite IV, zero_ok. ring.
Qed.
Lemma mixed_ok L H l : length (mixed L H l) = S (length l) /\ hval (mixed L H l) = (u * ev n L xs + v * ev n H xs) * hval l.
Proof.
  unfold mixed. rewrite zip_length, length_of_app. simpl. rewrite !length_of_map. split. lia.
  rewrite hval_zip by (rewrite length_of_app; simpl; rewrite !length_of_map; lia).
  rewrite hval_end. simpl.
  rewrite (hval_map (ev n L xs) (mul n L)), (hval_map (ev n H xs) (mul n H)), zero_ok by (intro; apply mul_ok). ring.
Qed.
Lemma bernstein_ok L H p : u + v = 1 ->
  length (bernstein L H p) = length p /\ hval (bernstein L H p) = horner (u * ev n L xs + v * ev n H xs) (map val p).
Proof.
  intro E. induction p as [|c p [IL IV]]; simpl. split; reflexivity.
  destruct (pascal_ok (length p) c) as [PL PV]. destruct (mixed_ok L H (bernstein L H p)) as [ML MV].
  rewrite zip_length, PL, ML, IL, Nat.max_id. split. reflexivity.
  rewrite hval_zip by (rewrite PL, ML, IL; reflexivity). rewrite PV, MV, IV, E, pow1. unfold horner; simpl. ring.
Qed.
Lemma shifted_ok L sign p s :
  horner s (map val (shifted L sign p)) = horner (ev n L xs + Q2R sign * s) (map val p).
Proof.
  induction p as [|c p IH]. reflexivity.
  change (shifted L sign (c :: p)) with (zip (add n) [c] (zip (add n) (map (mul n L) (shifted L sign p))
    (zero n :: map (scale n sign) (shifted L sign p)))).
  rewrite !(zip_ok (add n) val) by (intros; apply add_ok).
  rewrite (map_ok (mul n L) val (ev n L xs)) by (intro; apply mul_ok).
  change (map val (zero n :: map (scale n sign) (shifted L sign p)))
    with (ev n (zero n) xs :: map val (map (scale n sign) (shifted L sign p))).
  unfold horner at 3; simpl fold_right. fold (horner s (map val (map (scale n sign) (shifted L sign p)))).
  rewrite (map_ok (scale n sign) val (Q2R sign)) by (intro; apply scale_ok).
  rewrite IH, zero_ok. unfold horner; simpl. ring.
Qed.
Lemma hval_nonneg l : 0 <= u -> 0 <= v -> Forall (fun c => 0 <= ev n c xs) l -> 0 <= hval l.
Proof.
  intros U V F. induction F as [|c l C F IH]; simpl. lra.
  pose proof (Rmult_le_pos _ _ C (pow_le u (length l) U)). pose proof (Rmult_le_pos _ _ V IH). lra.
Qed.
Lemma hval_first l : 0 < u -> 0 <= v -> Forall (fun c => 0 <= ev n c xs) l -> 0 < ev n (hd (zero n) l) xs -> 0 < hval l.
Proof.
  intros U V F P. destruct F as [|c l C F]; simpl in *. rewrite zero_ok in P. lra.
  pose proof (Rmult_lt_0_compat _ _ P (pow_lt u (length l) U)).
  pose proof (Rmult_le_pos _ _ V (hval_nonneg l (Rlt_le _ _ U) V F)). lra.
Qed.
Lemma hval_last l : 0 <= u -> 0 < v -> Forall (fun c => 0 <= ev n c xs) l -> 0 < ev n (last l (zero n)) xs -> 0 < hval l.
Proof.
  intros U V F P. induction F as [|c l C F IH]. simpl in P. rewrite zero_ok in P. lra.
  destruct l as [|d l]. simpl in *. lra.
  simpl hval in *. specialize (IH P).
  pose proof (Rmult_le_pos _ _ C (pow_le u (length (d :: l)) U)). pose proof (Rmult_lt_0_compat _ _ V IH). simpl in *. lra.
Qed.
Lemma horner_nonneg x l : 0 <= x -> Forall (fun c => 0 <= ev n c xs) l -> 0 <= horner x (map val l).
Proof.
  intros X F. unfold horner. induction F as [|c l C F IH]; simpl. lra. pose proof (Rmult_le_pos _ _ X IH). lra.
Qed.
Lemma horner_first x l : 0 <= x -> Forall (fun c => 0 <= ev n c xs) l -> 0 < ev n (hd (zero n) l) xs -> 0 < horner x (map val l).
Proof.
  intros X F P. destruct F as [|c l C F]; simpl in *. rewrite zero_ok in P. lra.
  pose proof (horner_nonneg x l X F). pose proof (Rmult_le_pos _ _ X H). unfold horner in *; simpl. lra.
Qed.
End Expansion.

Definition end_ (n : nat) := option (poly n).
Fixpoint box (n : nat) : Type := match n with O => unit | S n => ((end_ n * end_ n) * box n)%type end.
Definition above n (l : end_ n) (xs : list R) (x : R) := match l with Some L => ev n L xs <= x | None => True end.
Definition below n (h : end_ n) (xs : list R) (x : R) := match h with Some H => x <= ev n H xs | None => True end.
Fixpoint inside (n : nat) : box n -> list R -> Prop :=
  match n with
  | O => fun _ _ => True
  | S n => fun b xs => above n (fst (fst b)) (tl xs) (hd 0 xs) /\ below n (snd (fst b)) (tl xs) (hd 0 xs) /\ inside n (snd b) (tl xs)
  end.
Definition corners {A : Type} (zero : A) (l : list A) : list A :=
  match l with [] => [zero] | [a] => [a] | a :: l => [a; last l zero] end.
(* Those of s are positive on the box, those of w are nonnegative there. *)
Fixpoint signed (n : nat) : box n -> list (poly n) -> list (poly n) -> bool :=
  match n with
  | O => fun _ s w => (forallb (fun q => negb (Qle_bool q 0)) s && forallb (Qle_bool 0) w)%bool
  | S n => fun b s w =>
      let first := hd (zero n) in
      match fst b with
      | (Some L, Some H) =>
          let strict := map (bernstein n L H) s in
          signed n (snd b) (concat (map (corners (zero n)) strict)) (concat (strict ++ map (bernstein n L H) w))
      | (Some L, None) =>
          let strict := map (shifted n L 1) s in signed n (snd b) (map first strict) (concat (strict ++ map (shifted n L 1) w))
      | (None, Some H) =>
          let strict := map (shifted n H (-1)) s in signed n (snd b) (map first strict) (concat (strict ++ map (shifted n H (-1)) w))
      | (None, None) =>
          (forallb (fun p => forallb (vanishes n) (tl p)) (s ++ w) && signed n (snd b) (map first s) (map first w))%bool
      end
  end.

Lemma mixture l h x : l <= x <= h -> exists u v, 0 <= u /\ 0 <= v /\ u + v = 1 /\ x = u * l + v * h.
Proof.
  intros [A B]. destruct (Rle_lt_dec h l) as [E|E].
  - exists 1, 0. lra.
  - assert (0 < / (h - l)) by (apply Rinv_0_lt_compat; lra).
    exists ((h - x) * / (h - l)), ((x - l) * / (h - l)).
    split. apply Rmult_le_pos; lra. split. apply Rmult_le_pos; lra. split; field; lra.
Qed.
Lemma Forall_concat_in {A : Type} (Q : A -> Prop) ls : Forall Q (concat ls) -> forall l, In l ls -> Forall Q l.
Proof.
  intros F l H. rewrite Forall_forall in *. intros a K. apply F, in_concat. exists l. auto.
Qed.
Lemma signed_ok n : forall b s w xs, signed n b s w = true -> inside n b xs ->
  Forall (fun p => 0 < ev n p xs) s /\ Forall (fun p => 0 <= ev n p xs) w.
Proof.
  induction n as [|n IH]; simpl; intros b s w xs E I.
  - apply andb_prop in E as [E F]. rewrite forallb_forall in E, F. split; apply Forall_forall; intros q H.
    + specialize (E q H). rewrite <- Q0. apply Qlt_Rlt, Qnot_le_lt. intro K. apply Qle_bool_iff in K. rewrite K in E. discriminate.
    + rewrite <- Q0. apply Qle_Rle, Qle_bool_iff, F, H.
  - destruct b as [[l h] b], I as [A [B I]]. simpl in *. set (x := hd 0 xs) in *. set (ys := tl xs) in *.
    assert (In' : forall (f : list (poly n) -> list (poly n)) t, In t s -> In (f t) (map f s)) by (intros; apply in_map; assumption).
    destruct l as [L|], h as [H|]; simpl in A, B.
    + apply IH with (xs := ys) in E as [S W]; [|exact I].
      destruct (mixture _ _ x (conj A B)) as [u [v [U [V [UV X]]]]].
      assert (G : forall p, horner x (map (fun c => ev n c ys) p) = hval n ys u v (bernstein n L H p)).
      { intro p. rewrite X. symmetry. apply bernstein_ok, UV. }
      split; apply Forall_forall; intros p Hp; rewrite G.
      * assert (F := Forall_concat_in _ _ W _ (in_or_app _ _ _ (or_introl (in_map (bernstein n L H) _ _ Hp)))).
        assert (C := Forall_concat_in _ _ S _ (in_map (corners (zero n)) _ _ (in_map (bernstein n L H) _ _ Hp))).
        destruct (bernstein n L H p) as [|c [|d l]]; simpl in C; inversion C as [|? ? C1 C2]; subst.
        -- rewrite zero_ok in C1. lra.
        -- simpl. lra.
        -- inversion C2 as [|? ? C3 _]; subst. destruct (Rle_lt_dec u 0) as [U0|U0].
           ++ apply hval_last; auto. lra.
           ++ apply hval_first; auto.
      * apply hval_nonneg; auto.
        exact (Forall_concat_in _ _ W _ (in_or_app _ _ _ (or_intror (in_map (bernstein n L H) _ _ Hp)))).
    + apply IH with (xs := ys) in E as [S W]; [|exact I].
      assert (G : forall p, horner x (map (fun c => ev n c ys) p)
        = horner (x - ev n L ys) (map (fun c => ev n c ys) (shifted n L 1 p))).
      { intro p. rewrite shifted_ok, Q1. f_equal. ring. }
      rewrite Forall_map in S. rewrite Forall_map in S. rewrite Forall_forall in S.
      split; apply Forall_forall; intros p Hp; rewrite G.
      * apply horner_first; auto. lra.
        exact (Forall_concat_in _ _ W _ (in_or_app _ _ _ (or_introl (in_map _ _ _ Hp)))).
      * apply horner_nonneg. lra.
        exact (Forall_concat_in _ _ W _ (in_or_app _ _ _ (or_intror (in_map _ _ _ Hp)))).
    + apply IH with (xs := ys) in E as [S W]; [|exact I].
      assert (G : forall p, horner x (map (fun c => ev n c ys) p)
        = horner (ev n H ys - x) (map (fun c => ev n c ys) (shifted n H (-1) p))).
      { intro p. rewrite shifted_ok. f_equal. unfold Q2R; simpl. lra. }
      rewrite Forall_map in S. rewrite Forall_map in S. rewrite Forall_forall in S.
      split; apply Forall_forall; intros p Hp; rewrite G.
      * apply horner_first; auto. lra.
        exact (Forall_concat_in _ _ W _ (in_or_app _ _ _ (or_introl (in_map _ _ _ Hp)))).
      * apply horner_nonneg. lra.
        exact (Forall_concat_in _ _ W _ (in_or_app _ _ _ (or_intror (in_map _ _ _ Hp)))).
    + apply andb_prop in E as [Z E]. apply IH with (xs := ys) in E as [S W]; [|exact I].
      rewrite forallb_forall in Z.
      assert (G : forall p, In p (s ++ w) -> horner x (map (fun c => ev n c ys) p) = ev n (hd (zero n) p) ys).
      { intros p Hp. specialize (Z p Hp). destruct p as [|c p]; simpl in *.
        - rewrite zero_ok. reflexivity.
        - unfold horner; simpl. fold (horner x (map (fun c => ev n c ys) p)). rewrite rest_zero by exact Z. ring. }
      rewrite Forall_map in S, W. rewrite Forall_forall in S, W.
      split; apply Forall_forall; intros p Hp; rewrite G by (apply in_or_app; auto); auto.
Qed.

(* ---- Formulas as quotients of polynomials, on a box and under hypotheses *)

Section Context.
Variable n : nat.
Variable b : box n.
Variable positive : list (poly n).                     (* what a strict hypothesis says is positive *)
Variable short : bool.                                 (* whether equal factors are left out of quotients *)
Notation one := (cst n 1).

Definition is_positive (p : poly n) : bool := signed n b [p] [].
Fixpoint leading (k : nat) : poly k -> option Q :=
  match k with
  | O => fun q => if Qeq_bool q 0 then None else Some q
  | S k => fun p => fold_right (fun c r => match leading k c with Some q => Some q | None => r end) None p
  end.
(* The sign of p, if p is a multiple of k. *)
Definition along (p k : poly n) : option bool :=
  match leading n p, leading n k with
  | Some x, Some y => if (same n (scale n y p) (scale n x k) && negb (Qeq_bool y 0))%bool
                      then (if Qle_bool (x / y) 0 then (if Qeq_bool (x / y) 0 then None else Some false) else Some true) else None
  | _, _ => None
  end.
Definition sign (p : poly n) : option bool :=
  if is_positive p then Some true else if is_positive (scale n (-1) p) then Some false
  else fold_right (fun k r => match along p k with Some t => Some t | None => r end) None positive.

Definition quotient : Type := (poly n * poly n)%type.
Fixpoint power (p : poly n) (k : nat) : poly n := match k with O => one | S k => mul n p (power p k) end.
Definition sum (k : Q) (x y : quotient) : option quotient :=
  if same n (snd x) (snd y) then Some (add n (fst x) (scale n k (fst y)), snd x)
  else Some (add n (mul n (fst x) (snd y)) (scale n k (mul n (fst y) (snd x))), mul n (snd x) (snd y)).
Definition number (x : quotient) : option Q := if same n (snd x) one then constant n (fst x) else None.
Definition ratio (x y : quotient) : option quotient :=
  match (if short then Some 1%Q else number x), number y with
  | Some _, Some q => if Qeq_bool q 0 then None else Some (scale n (/ q) (fst x), snd x)
  | _, _ => match sign (fst y) with Some _ => Some (mul n (fst x) (snd y), mul n (snd x) (fst y)) | None => None end
  end.
Definition product (x y : quotient) : quotient :=
  if (short && same n (fst x) (snd y))%bool then (fst y, snd x)
  else if (short && same n (fst y) (snd x))%bool then (fst x, snd y)
  else (mul n (fst x) (fst y), mul n (snd x) (snd y)).
Fixpoint quo (env : list quotient) (e : formula) : option quotient :=
  match e with
  | Var i => nth_error env i | Num z => Some (cst n (z # 1), one)
  | Add x y => op2 (sum 1) (quo env x) (quo env y) | Sub x y => op2 (sum (-1)) (quo env x) (quo env y)
  | Mul x y => op2 (fun x y => Some (product x y)) (quo env x) (quo env y)
  | Div x y => op2 ratio (quo env x) (quo env y)
  | Opp x => match quo env x with Some x => Some (scale n (-1) (fst x), snd x) | None => None end
  | Pow x k => match quo env x with Some x => Some (power (fst x) k, power (snd x) k) | None => None end
  end.
(* A polynomial with the sign of y - x. *)
Definition slack (env : list quotient) (x y : formula) : option (poly n) :=
  match quo env (Sub y x) with
  | Some q => match sign (snd q) with Some true => Some (fst q) | Some false => Some (scale n (-1) (fst q)) | None => None end
  | None => None
  end.

Variable xs : list R.
Hypothesis I : inside n b xs.
Hypothesis P : Forall (fun p => 0 < ev n p xs) positive.
Notation E p := (ev n p xs).

Lemma minus_one : Q2R (-1) = -1. Proof. unfold Q2R; simpl; lra. Qed.
Lemma one_ok : E one = 1. Proof. rewrite cst_ok. apply Q1. Qed.
Lemma is_positive_ok p : is_positive p = true -> 0 < E p.
Proof. intro S. apply (signed_ok n b _ _ xs) in S as [S _]; [|exact I]. inversion S; assumption. Qed.
Lemma along_ok p k t : 0 < E k -> along p k = Some t -> if t then 0 < E p else E p < 0.
Proof.
  unfold along. intros K H. destruct (leading n p) as [x|], (leading n k) as [y|]; try discriminate.
  destruct (same n (scale n y p) (scale n x k)) eqn:S; simpl in H; try discriminate.
  destruct (Qeq_bool y 0) eqn:Y; simpl in H; try discriminate. apply nonzero in Y.
  apply same_ok with (xs := xs) in S. rewrite !scale_ok in S.
  assert (V : E p = Q2R (x / y) * E k).
  { rewrite Q2R_div by (intro F; apply Y; apply Qeq_eqR in F; rewrite F; apply Q0).
    apply Rmult_eq_reg_l with (Q2R y); [|exact Y]. rewrite S. field. exact Y. }
  rewrite V. destruct (Qle_bool (x / y) 0) eqn:C.
  - destruct (Qeq_bool (x / y) 0) eqn:D; try discriminate. injection H as <-. apply nonzero in D.
    apply Qle_bool_iff, Qle_Rle in C. rewrite Q0 in C. nra.
  - injection H as <-. assert (0 < Q2R (x / y)).
    { rewrite <- Q0. apply Qlt_Rlt, Qnot_le_lt. intro F. apply Qle_bool_iff in F. congruence. } nra.
Qed.
Lemma sign_ok p t : sign p = Some t -> if t then 0 < E p else E p < 0.
Proof.
  unfold sign. destruct (is_positive p) eqn:A. intro H; injection H as <-. apply is_positive_ok, A.
  destruct (is_positive (scale n (-1) p)) eqn:B.
  - intro H; injection H as <-. apply is_positive_ok in B. rewrite scale_ok, minus_one in B. lra.
  - clear A B. induction P as [|k l K F IH]; simpl. discriminate.
    destruct (along p k) as [s|] eqn:A. intro H; injection H as <-. exact (along_ok p k s K A). exact (IH F).
Qed.
Lemma sign_nonzero p t : sign p = Some t -> E p <> 0.
Proof. intro H. apply sign_ok in H. destruct t; lra. Qed.

Definition means (q : quotient) (r : R) := E (snd q) <> 0 /\ r = E (fst q) / E (snd q).
Lemma power_ok p k : E (power p k) = E p ^ k.
Proof. induction k; simpl; rewrite ?mul_ok, ?IHk, ?one_ok; reflexivity. Qed.
Lemma sum_ok k x y r s q : means x r -> means y s -> sum k x y = Some q -> means q (r + Q2R k * s).
Proof.
  unfold sum, means. intros [A B] [C D]. destruct (same n (snd x) (snd y)) eqn:F; intro H; injection H as <-; simpl.
  - apply same_ok with (xs := xs) in F. rewrite add_ok, scale_ok, B, D, <- F. split. exact A. field. exact A.
  - rewrite add_ok, scale_ok, !mul_ok, B, D. split. apply Rmult_integral_contrapositive_currified; assumption. field. auto.
Qed.
Lemma number_ok x k r : means x r -> number x = Some k -> r = Q2R k.
Proof.
  unfold number, means. intros [A B] H. destruct (same n (snd x) one) eqn:S; try discriminate.
  rewrite B, (same_ok n _ _ S), one_ok, (constant_ok n _ _ H). field.
Qed.
Lemma ratio_ok x y r s q : means x r -> means y s -> ratio x y = Some q -> means q (r / s).
Proof.
  intros X Y. assert (G : match sign (fst y) with Some _ => Some (mul n (fst x) (snd y), mul n (snd x) (fst y)) | None => None end
    = Some q -> means q (r / s)).
  { unfold means in *. destruct X as [A B], Y as [C D]. destruct (sign (fst y)) as [t|] eqn:T; try discriminate.
    apply sign_nonzero in T. intro H; injection H as <-; simpl. rewrite !mul_ok, B, D.
    split. apply Rmult_integral_contrapositive_currified; assumption. field. auto. }
  unfold ratio. destruct (if short then _ else _); [|exact G]. destruct (number y) as [l|] eqn:M; [|exact G].
  destruct (Qeq_bool l 0) eqn:Z; try discriminate. intro H; injection H as <-. pose proof (nonzero l Z) as N.
  apply (number_ok y l s Y) in M. destruct X as [A B].
  unfold means; simpl. rewrite scale_ok, M, B, Q2R_inv by (intro F; apply N; apply Qeq_eqR in F; rewrite F; apply Q0).
  split. exact A. field. auto.
Qed.
Lemma product_ok x y r s : means x r -> means y s -> means (product x y) (r * s).
Proof.
  unfold product, means. intros [A B] [C D]. rewrite B, D.
  destruct (short && same n (fst x) (snd y))%bool eqn:F; [|destruct (short && same n (fst y) (snd x))%bool eqn:G]; simpl.
  - apply andb_prop in F as [_ F]. rewrite (same_ok n _ _ F). split. exact A. field. auto.
  - apply andb_prop in G as [_ G]. rewrite (same_ok n _ _ G). split. exact C. field. auto.
  - rewrite !mul_ok. split. apply Rmult_integral_contrapositive_currified; assumption. field. auto.
Qed.
Definition right (env : list quotient) (values : list R) :=
  forall i q, nth_error env i = Some q -> means q (nth i values 0).
Lemma quo_ok env values e : right env values -> forall q, quo env e = Some q -> means q (den values e).
Proof.
  intro A. induction e; simpl; intros q H.
  1: apply A, H.
  1: { injection H as <-. unfold means; simpl. rewrite one_ok, cst_ok, Q2R_Z. split. lra. field. }
  1-4: destruct (quo env e1) as [x|], (quo env e2) as [y|]; simpl in H; try discriminate;
    specialize (IHe1 x eq_refl); specialize (IHe2 y eq_refl).
  - replace (den values e1 + den values e2) with (den values e1 + Q2R 1 * den values e2) by (rewrite Q1; ring).
    exact (sum_ok 1 x y _ _ q IHe1 IHe2 H).
  - replace (den values e1 - den values e2) with (den values e1 + Q2R (-1) * den values e2) by (rewrite minus_one; ring).
    exact (sum_ok (-1) x y _ _ q IHe1 IHe2 H).
  - injection H as <-. exact (product_ok x y _ _ IHe1 IHe2).
  - exact (ratio_ok x y _ _ q IHe1 IHe2 H).
  - destruct (quo env e) as [x|]; try discriminate. injection H as <-. destruct (IHe x eq_refl) as [B C].
    unfold means; simpl. rewrite scale_ok, minus_one, C. split. exact B. field. exact B.
  - destruct (quo env e) as [x|]; try discriminate. injection H as <-. destruct (IHe x eq_refl) as [B C].
    unfold means; simpl. rewrite !power_ok, C. split. apply pow_nonzero, B. unfold Rdiv. rewrite Rpow_mult_distr, pow_inv. reflexivity.
Qed.
Lemma slack_ok env values x y p : right env values -> slack env x y = Some p ->
  exists k, 0 < k /\ E p = k * (den values y - den values x).
Proof.
  unfold slack. intros A H. destruct (quo env (Sub y x)) as [q|] eqn:Q; try discriminate.
  apply (quo_ok env values (Sub y x) A) in Q as [B C]. simpl in C. rewrite C.
  destruct (sign (snd q)) as [t|] eqn:S; try discriminate. apply sign_ok in S.
  destruct t; injection H as <-.
  - exists (E (snd q)). split. exact S. field. exact B.
  - exists (- E (snd q)). split. lra. rewrite scale_ok, minus_one. field. exact B.
Qed.
End Context.

(* ---- Positive semidefinite matrices of integers, by elimination, each step divided by the pivot before it (Bareiss) *)

Fixpoint outer (r : list Z) : list (list Z) := match r with [] => [] | x :: r => ((x * x)%Z :: map (Z.mul x) r) :: outer r end.
Fixpoint zip2 {A B C : Type} (f : A -> B -> option C) (p : list A) (q : list B) : option (list C) :=
  match p, q with
  | [], [] => Some []
  | a :: p, b :: q => match f a b, zip2 f p q with Some c, Some l => Some (c :: l) | _, _ => None end
  | _, _ => None end.
Definition eliminated (a p x y : Z) : option Z :=
  let n := (a * x - y)%Z in let z := (n / p)%Z in if (p * z =? n)%Z then Some z else None.
Fixpoint semidefinite (n : nat) (p : Z) (m : list (list Z)) : bool :=
  match n, m with
  | _, [] => true
  | S n, (a :: r) :: m =>
      if (a =? 0)%Z then (forallb (Z.eqb 0) r && semidefinite n p m)%bool
      else ((0 <? a)%Z && match zip2 (zip2 (eliminated a p)) m (outer r) with
                          | Some m => semidefinite n a m | None => false end)%bool
  | _, _ => false
  end.

Section Semidefinite.
Variable Sp : space.
Definition later (w : nat -> V Sp) : nat -> V Sp := fun i => w (Datatypes.S i).
Lemma ip_origin z : << origin Sp, z >> = 0.
Proof.
  pose proof (ip_plus Sp (origin Sp) (origin Sp) z) as E. rewrite plus_origin in E. lra.
Qed.
Lemma ip_plus_r x y z : << z, plus Sp x y >> = << z, x >> + << z, y >>.
Proof. rewrite ip_sym, ip_plus, (ip_sym Sp x), (ip_sym Sp y). reflexivity. Qed.
Lemma ip_times_r a x z : << z, times Sp a x >> = a * << z, x >>.
Proof. rewrite ip_sym, ip_times, (ip_sym Sp x). reflexivity. Qed.
Lemma ip_origin_r z : << z, origin Sp >> = 0.
Proof. rewrite ip_sym. apply ip_origin. Qed.

Fixpoint comb (r : list Z) (w : nat -> V Sp) : V Sp :=
  match r with [] => origin Sp | x :: r => plus Sp (times Sp (IZR x) (w O)) (comb r (later w)) end.
Fixpoint quad (m : list (list Z)) (w : nat -> V Sp) : R :=
  match m with
  | [] => 0
  | r :: m => match r with [] => 0 | a :: r => IZR a * << w O, w O >> + 2 * << w O, comb r (later w) >> end + quad m (later w)
  end.
Lemma comb_scaled x r : forall w z, << z, comb (map (Z.mul x) r) w >> = IZR x * << z, comb r w >>.
Proof.
  induction r as [|y r IH]; intros w z; simpl. rewrite !ip_origin_r. ring.
  rewrite !ip_plus_r, !ip_times_r, IH, mult_IZR. ring.
Qed.
Lemma outer_ok r : forall w, quad (outer r) w = << comb r w, comb r w >>.
Proof.
  induction r as [|x r IH]; intro w; simpl. rewrite ip_origin. reflexivity.
  rewrite IH, comb_scaled, mult_IZR, !ip_plus, !ip_plus_r, !ip_times, !ip_times_r.
  rewrite (ip_sym Sp (comb r (later w)) (w O)). ring.
Qed.
Lemma eliminated_ok a p x y z : eliminated a p x y = Some z -> IZR p * IZR z = IZR a * IZR x - IZR y.
Proof.
  unfold eliminated. destruct (_ =? _)%Z eqn:E; try discriminate. intro H; injection H as <-.
  apply Z.eqb_eq in E. rewrite <- mult_IZR, E, minus_IZR, mult_IZR. reflexivity.
Qed.
Lemma eliminated_row a p : forall r t z, zip2 (eliminated a p) r t = Some z -> forall w y,
  IZR p * << y, comb z w >> = IZR a * << y, comb r w >> - << y, comb t w >>.
Proof.
  induction r as [|x r IH]; intros [|u t] z E w y; simpl in E; try discriminate.
  - injection E as <-. simpl. rewrite ip_origin_r. ring.
  - destruct (eliminated a p x u) as [c|] eqn:C; try discriminate.
    destruct (zip2 (eliminated a p) r t) as [l|] eqn:L; try discriminate. injection E as <-.
    simpl. rewrite !ip_plus_r, !ip_times_r. apply eliminated_ok in C. specialize (IH _ _ L (later w) y).
    rewrite Rmult_plus_distr_l, IH, <- Rmult_assoc, C. ring.
Qed.
Lemma eliminated_all a p : forall m t z, zip2 (zip2 (eliminated a p)) m t = Some z -> forall w,
  IZR p * quad z w = IZR a * quad m w - quad t w.
Proof.
  induction m as [|r m IH]; intros [|u t] z E w; simpl in E; try discriminate.
  - injection E as <-. simpl. ring.
  - destruct (zip2 (eliminated a p) r u) as [c|] eqn:C; try discriminate.
    destruct (zip2 (zip2 (eliminated a p)) m t) as [l|] eqn:L; try discriminate. injection E as <-.
    simpl. rewrite Rmult_plus_distr_l, (IH _ _ L). destruct r as [|x r], u as [|y u]; simpl in C; try discriminate.
    + injection C as <-. ring.
    + destruct (eliminated a p x y) as [b|] eqn:B; try discriminate.
      destruct (zip2 (eliminated a p) r u) as [k|] eqn:K; try discriminate. injection C as <-.
      apply eliminated_ok in B. pose proof (eliminated_row a p _ _ _ K (later w) (w O)) as F.
      replace (IZR p * (IZR b * << w O, w O >> + 2 * << w O, comb k (later w) >>))
        with (IZR p * IZR b * << w O, w O >> + 2 * (IZR p * << w O, comb k (later w) >>)) by ring.
      rewrite B, F. ring.
Qed.
Lemma zero_comb r : forallb (Z.eqb 0) r = true -> forall w z, << z, comb r w >> = 0.
Proof.
  induction r as [|x r IH]; simpl; intros E w z. apply ip_origin_r.
  apply andb_prop in E as [E F]. destruct x; try discriminate. rewrite ip_plus_r, ip_times_r, IH by exact F. ring.
Qed.
Lemma semidefinite_ok n : forall p m w, (0 < p)%Z -> semidefinite n p m = true -> 0 <= quad m w.
Proof.
  induction n as [|n IH]; intros p [|[|a r] m] w P E; simpl in E; try discriminate; try (simpl; lra).
  destruct (a =? 0)%Z eqn:Z0.
  - apply andb_prop in E as [E F]. apply Z.eqb_eq in Z0 as ->. simpl. rewrite zero_comb by exact E.
    specialize (IH p m (later w) P F). lra.
  - apply andb_prop in E as [A E]. apply Z.ltb_lt in A.
    destruct (zip2 (zip2 (eliminated a p)) m (outer r)) as [z|] eqn:Z; try discriminate.
    specialize (IH a z (later w) A E). apply eliminated_all with (w := later w) in Z. rewrite outer_ok in Z.
    apply IZR_lt in A, P. simpl. set (c := comb r (later w)) in *.
    assert (Q : 0 <= << plus Sp (times Sp (IZR a) (w O)) c, plus Sp (times Sp (IZR a) (w O)) c >>) by apply ip_pos.
    rewrite !ip_plus, !ip_plus_r, !ip_times, !ip_times_r, (ip_sym Sp c (w O)) in Q.
    apply Rmult_le_reg_l with (IZR a). exact A. rewrite Rmult_0_r.
    pose proof (Rmult_le_pos _ _ (Rlt_le _ _ P) IH). nra.
Qed.

End Semidefinite.
Definition reals : space.
Proof.
  refine {| V := R; origin := 0; plus := Rplus; times := Rmult; ip := Rmult; ip_pos := Rle_0_sqr |};
    try (intros; ring).
  intros x E. destruct (Rmult_integral _ _ E); assumption.
Defined.

Fixpoint combined n (r : list Z) (l : list (poly n)) : poly n :=
  match r with [] => zero n | x :: r => add n (scale n (x # 1) (hd (zero n) l)) (combined n r (tl l)) end.
Fixpoint form_of n (m : list (list Z)) (l : list (poly n)) : poly n :=
  match m with
  | [] => zero n
  | r :: m => add n match r with
                    | [] => zero n
                    | a :: r => let p := hd (zero n) l in
                                mul n p (add n (scale n (a # 1) p) (scale n 2 (combined n r (tl l)))) end
                    (form_of n m (tl l))
  end.
Section Form.
Variable n : nat.
Variable xs : list R.
Definition are (l : list (poly n)) (w : nat -> R) := forall i, w i = ev n (nth i l (zero n)) xs.
Lemma first_is l w : are l w -> w O = ev n (hd (zero n) l) xs.
Proof. intro A. rewrite A. destruct l; reflexivity. Qed.
Lemma rest_are l w : are l w -> are (tl l) (later reals w).
Proof. intros A i. unfold later. rewrite A. destruct l, i; reflexivity. Qed.
Lemma combined_ok r : forall l w, are l w -> ev n (combined n r l) xs = comb reals r w.
Proof.
  induction r as [|x r IH]; intros l w A; simpl. apply zero_ok.
  rewrite add_ok, scale_ok, Q2R_Z, (IH _ _ (rest_are l w A)), (first_is l w A). reflexivity.
Qed.
Lemma form_of_ok m : forall l w, are l w -> ev n (form_of n m l) xs = quad reals m w.
Proof.
  induction m as [|[|a r] m IH]; intros l w A; simpl. apply zero_ok.
  - rewrite add_ok, zero_ok, (IH _ _ (rest_are l w A)). reflexivity.
  - rewrite add_ok, mul_ok, add_ok, !scale_ok, !Q2R_Z, (IH _ _ (rest_are l w A)), (first_is l w A).
    rewrite (combined_ok r _ _ (rest_are l w A)). ring.
Qed.
Lemma form_nonneg m l : semidefinite (length m) 1 m = true -> 0 <= ev n (form_of n m l) xs.
Proof.
  intro E. rewrite (form_of_ok m l (fun i => ev n (nth i l (zero n)) xs)) by (intro; reflexivity).
  apply (semidefinite_ok reals (length m) 1 m); auto with zarith.
Qed.
End Form.

(* ---- Theorems about every number of a box *)

(* What stands for a state has the value that an equation gives it, or, if it is the last symbol, ends by facts. *)
Inductive entry :=
| Ranged (low high : option formula) | Defined (e : formula) | Supposed (p : prop)
| Solved (p : prop) | Ends (low high : option prop).
Definition supposed (env : list R) (p : option prop) : Prop := match p with Some p => holds env p | None => True end.
(* Forms of polynomials, each with its weight, the numbers of hypotheses it is times, and upper rows of its matrix. *)
Definition squares := list (Q * list nat * (list formula * list (list Z))).
Inductive goal := Below (a b : formula) (s : squares) | Same (a b : formula) | Never (p : prop).
Definition reached (env : list R) (g : goal) : Prop :=
  match g with Below a b _ => den env a <= den env b | Same a b => den env a = den env b | Never p => ~ holds env p end.
Fixpoint meets (env : list R) (i : nat) (es : list entry) : Prop :=
  match es with
  | [] => True
  | Ranged l h :: es =>
      (match l with Some l => den env l <= nth i env 0 | None => True end) /\
      (match h with Some h => nth i env 0 <= den env h | None => True end) /\ meets env (S i) es
  | Defined e :: es => nth i env 0 = den env e /\ meets env (S i) es
  | Supposed p :: es => holds env p /\ meets env i es
  | Ends l h :: es => supposed env l /\ supposed env h /\ meets env i es
  | Solved p :: es => holds env p /\ meets env (S i) es
  end.

Definition lift (n : nat) (p : poly n) : poly (S n) := [p].
Section Proof.
Variable g : goal.
Variable short : bool.
Definition is_nonnegative n b p := signed n b [] [p].
Fixpoint total n (b : box n) env (factors : list (poly n)) (s : squares) : option (poly n) :=
  match s with
  | [] => Some (zero n)
  | (w, fs, (es, m)) :: s =>
      let l := map (fun e => match quo n b [] short env e with Some q => fst q | None => zero n end) es in
      match total n b env factors s with
      | Some t => if (Qle_bool 0 w && semidefinite (length m) 1 m)%bool
                  then Some (add n t (fold_right (fun i p => mul n (nth i factors (zero n)) p) (scale n w (form_of n m l)) fs))
                  else None
      | None => None end
  end.
Definition conclude n (b : box n) (env : list (quotient n)) (positive factors : list (poly n)) : bool :=
  match g with
  | Below x y s =>
      match slack n b positive short env x y with
      | Some p => (is_nonnegative n b p ||
                   match s with [] => false | _ => match total n b env factors s with Some t => same n p t | None => false end end)%bool
      | None => false end
  | Same x y => match quo n b positive short env (Sub x y) with Some q => vanishes n (fst q) | None => false end
  | Never (Le x y) => match slack n b positive short env y x with
                      | Some p => match sign n b positive p with Some t => t | None => false end | None => false end
  | Never (Lt x y) => match slack n b positive short env y x with Some p => is_nonnegative n b p | None => false end
  | Never (Eq x y) => match slack n b positive short env x y with
                      | Some p => match sign n b [] p with Some _ => true | None => false end | None => false end
  | Never _ => false
  end.
(* An end of a range: a polynomial, over another one that is positive. *)
Definition ratio_end (n : nat) : Type := (poly n * option (poly n))%type.
Definition an_end n b (positive : list (poly n)) (env : list (quotient n)) (e : option formula) : option (option (ratio_end n)) :=
  match e with
  | None => Some None
  | Some e => match quo n b positive short env e with
              | Some (p, d) =>
                  match constant n d with
                  | Some k => if Qeq_bool k 0 then None else Some (Some (scale n (/ k) p, None))
                  | None => match sign n b positive d with
                            | Some true => Some (Some (p, Some d))
                            | Some false => Some (Some (scale n (-1) p, Some (scale n (-1) d)))
                            | None => None end
                  end
              | None => None end
  end.
Definition bottom n (e : option (ratio_end n)) : option (poly n) := match e with Some (_, d) => d | None => None end.
Definition timed n (d : option (poly n)) (p : poly n) : poly n := match d with Some d => mul n d p | None => p end.
Definition both n (d e : option (poly n)) : option (poly n) := match e with Some e => Some (timed n d e) | None => d end.
Definition end_over n (d : option (poly n)) (e : option (ratio_end n)) : end_ n := option_map (fun e => timed n d (fst e)) e.
Definition known n b (positive : list (poly n)) (env : list (quotient n)) (p : prop) : list (poly n) * list (poly n) :=
  match p with
  | Le x y => match slack n b positive short env x y with Some p => ([], [p]) | None => ([], [zero n]) end
  | Lt x y => match slack n b positive short env x y with Some p => ([p], [p]) | None => ([], [zero n]) end
  | Eq x y => match slack n b positive short env x y with Some p => ([], [p; scale n (-1) p]) | None => ([], [zero n; zero n]) end
  | _ => ([], [])
  end.
(* A symbol is the new variable, over d. *)
Definition raised n (d : option (poly n)) (env : list (quotient n)) : list (quotient (S n)) :=
  map (fun q => (lift n (fst q), lift n (snd q))) env ++
  [([zero n; cst n 1], match d with Some d => lift n d | None => cst (S n) 1 end)].
(* The last symbol x in what p says: k and L, such that k (x - L) has its sign. *)
Definition isolated n (b : box (S n)) positive (env : list (quotient (S n))) (p : prop) : option (Q * poly n) :=
  match p with
  | Le x y | Lt x y | Eq x y =>
      match slack (S n) b positive short env x y with
      | Some (c :: d :: r) =>
          match constant n d with
          | Some k => if (forallb (vanishes n) r && negb (Qeq_bool k 0))%bool then Some (k, scale n (- / k) c) else None
          | None => None end
      | _ => None end
  | _ => None
  end.
Definition is_equation (p : prop) : bool := match p with Eq _ _ => true | _ => false end.
Definition bound_of n b positive (env : list (quotient (S n))) (low : bool) (p : option prop) : option (end_ n) :=
  match p with
  | None => Some None
  | Some p => match isolated n b positive env p with
              | Some (k, L) => if (is_equation p || Qle_bool 0 (if low then k else - k))%bool then Some (Some L) else None
              | None => None end
  end.
Definition distances n (l h : end_ n) : list (poly (S n)) :=
  match l with Some L => [[scale n (-1) L; cst n 1]] | None => [] end ++
  match h with Some H => [[H; cst n (-1)]] | None => [] end.
Fixpoint go (es : list entry) : forall n, box n -> list (quotient n) -> list (poly n) -> list (poly n) -> bool :=
  match es with
  | [] => conclude
  | Ranged l h :: es => fun n b env positive factors =>
      match an_end n b positive env l, an_end n b positive env h with
      | Some L, Some H =>
          go es (S n) ((end_over n (bottom n H) L, end_over n (bottom n L) H), b) (raised n (both n (bottom n L) (bottom n H)) env)
            (map (lift n) positive) (map (lift n) factors)
      | _, _ => false end
  | Defined e :: es => fun n b env positive factors =>
      match quo n b positive short env e with Some q => go es n b (env ++ [q]) positive factors | None => false end
  | Supposed p :: es => fun n b env positive factors =>
      let k := known n b positive env p in go es n b env (positive ++ fst k) (factors ++ snd k)
  | Solved p :: es => fun n b env positive factors =>
      match isolated n ((None, None), b) (map (lift n) positive) (raised n None env) p with
      | Some (k, L) => (is_equation p && go es n b (env ++ [(L, cst n 1)]) positive factors)%bool | None => false end
  | Ends l h :: es => fun n => match n with
      | O => fun _ _ _ _ => false
      | S n => fun b env positive factors =>
          match bound_of n b positive env true l, bound_of n b positive env false h with
          | Some L, Some H => go es (S n) ((L, H), snd b) env positive (factors ++ distances n L H)
          | _, _ => false end
      end
  end.

Variable values : list R.
Notation Pos n xs := (Forall (fun p => 0 < ev n p xs)). Notation Nonneg n xs := (Forall (fun p => 0 <= ev n p xs)).
Lemma lift_ok n p x xs : ev (S n) (lift n p) (x :: xs) = ev n p xs.
Proof. simpl. unfold horner; simpl. ring. Qed.
Lemma nonnegative_ok n b p xs : inside n b xs -> is_nonnegative n b p = true -> 0 <= ev n p xs.
Proof. intros I S. apply (signed_ok n b _ _ xs) in S as [_ S]; [|exact I]. inversion S; assumption. Qed.
Lemma total_ok n b env factors xs : Nonneg n xs factors ->
  forall s t, total n b env factors s = Some t -> 0 <= ev n t xs.
Proof.
  intros F s. induction s as [|[[w fs] [es m]] s IH]; cbn [total]; intros t H.
  - injection H as <-. rewrite zero_ok. lra.
  - destruct (total n b env factors s) as [u|]; try discriminate.
    destruct (Qle_bool 0 w && semidefinite (length m) 1 m)%bool eqn:C; try discriminate. injection H as <-.
    apply andb_prop in C as [W C]. apply Qle_bool_iff, Qle_Rle in W. rewrite Q0 in W.
    specialize (IH u eq_refl). rewrite add_ok. apply Rplus_le_le_0_compat. exact IH. clear IH.
    induction fs as [|i fs IHf]; cbn [fold_right].
    + rewrite scale_ok. apply Rmult_le_pos. exact W. apply form_nonneg, C.
    + rewrite mul_ok. apply Rmult_le_pos; [|exact IHf].
      destruct (nth_in_or_default i factors (zero n)) as [N|N].
      * rewrite Forall_forall in F. apply F, N.
      * rewrite N, zero_ok. lra.
Qed.
Lemma conclude_ok n b env positive factors xs : conclude n b env positive factors = true ->
  inside n b xs -> Pos n xs positive -> right n xs env values -> Nonneg n xs factors -> reached values g.
Proof.
  unfold conclude, reached. intros C I P A F. destruct g as [x y s|x y|p].
  - destruct (slack n b positive short env x y) as [p|] eqn:S; try discriminate.
    apply (slack_ok n b positive short xs I P env values) in S as [k [K S]]; [|exact A].
    assert (0 <= ev n p xs).
    { apply orb_prop in C as [C|C]. apply (nonnegative_ok n b p xs I C).
      destruct s as [|a s]; try discriminate. destruct (total n b env factors (a :: s)) as [t|] eqn:T; try discriminate.
      rewrite (same_ok n p t C). exact (total_ok n b env factors xs F _ _ T). }
    nra.
  - destruct (quo n b positive short env (Sub x y)) as [q|] eqn:S; try discriminate.
    apply (quo_ok n b positive short xs I P env values (Sub x y) A) in S as [N S]. simpl in S.
    rewrite (vanishes_ok n _ C) in S. unfold Rdiv in S. rewrite Rmult_0_l in S. lra.
  - destruct p as [x y|x y|x y| | | | | |]; try discriminate; simpl.
    + destruct (slack n b positive short env y x) as [p|] eqn:S; try discriminate.
      apply (slack_ok n b positive short xs I P env values) in S as [k [K S]]; [|exact A].
      destruct (sign n b positive p) as [[]|] eqn:T; try discriminate. apply (sign_ok n b positive xs I P) in T. nra.
    + destruct (slack n b positive short env y x) as [p|] eqn:S; try discriminate.
      apply (slack_ok n b positive short xs I P env values) in S as [k [K S]]; [|exact A].
      apply (nonnegative_ok n b p xs I) in C. nra.
    + destruct (slack n b positive short env x y) as [p|] eqn:S; try discriminate.
      apply (slack_ok n b positive short xs I P env values) in S as [k [K S]]; [|exact A].
      destruct (sign n b [] p) as [t|] eqn:T; try discriminate.
      apply (sign_nonzero n b [] xs I (Forall_nil _)) in T. intro H. rewrite H in S. apply T. rewrite S. ring.
Qed.
Definition at_bottom n (d : option (poly n)) (xs : list R) : R := match d with Some d => ev n d xs | None => 1 end.
Lemma an_end_ok n b positive env e xs L : inside n b xs -> Pos n xs positive -> right n xs env values ->
  an_end n b positive env e = Some L ->
  match e, L with
  | Some e, Some (p, d) => 0 < at_bottom n d xs /\ ev n p xs = at_bottom n d xs * den values e | None, None => True | _, _ => False end.
Proof.
  intros I P A. unfold an_end. destruct e as [e|]; [|intro H; injection H as <-; exact Logic.I].
  destruct (quo n b positive short env e) as [[p d]|] eqn:Q; try discriminate.
  apply (quo_ok n b positive short xs I P env values e A) in Q as [N V]. simpl in N, V.
  destruct (constant n d) as [k|] eqn:K.
  - destruct (Qeq_bool k 0) eqn:Z; try discriminate. intro H. injection H as <-. apply constant_ok with (xs := xs) in K.
    pose proof (nonzero k Z) as M. simpl. split. lra.
    rewrite scale_ok, V, K, Q2R_inv by (intro F; apply M; apply Qeq_eqR in F; rewrite F; apply Q0). field. exact M.
  - destruct (sign n b positive d) as [[]|] eqn:T; try discriminate; intro H; injection H as <-;
      apply (sign_ok n b positive xs I P) in T; simpl; rewrite ?scale_ok, ?minus_one; split; try lra; rewrite V; field; exact N.
Qed.
Lemma known_ok n b positive env p xs : inside n b xs -> Pos n xs positive -> right n xs env values -> holds values p ->
  Pos n xs (fst (known n b positive env p)) /\ Nonneg n xs (snd (known n b positive env p)).
Proof.
  intros I P A H.
  assert (Z : 0 <= ev n (zero n) xs) by (rewrite zero_ok; lra).
  destruct p as [x y|x y|x y| | | | | |]; simpl in *; auto.
  all: destruct (slack n b positive short env x y) as [p|] eqn:S; simpl; auto.
  all: apply (slack_ok n b positive short xs I P env values) in S as [k [K S]]; [|exact A].
  - split; constructor; auto. nra.
  - split; constructor; auto; nra.
  - split; auto. rewrite H in S. constructor. rewrite S; nra. constructor; auto. rewrite scale_ok, S, minus_one. nra.
Qed.
Lemma extended_ok n xs env q : right n xs env values -> means n xs q (nth (length env) values 0) ->
  right n xs (env ++ [q]) values.
Proof.
  unfold quotient in *. intros A M j r R. destruct (Nat.lt_ge_cases j (length env)) as [K|K].
  - rewrite nth_error_app1 in R by exact K. exact (A j r R).
  - rewrite nth_error_app2 in R by exact K.
    assert (j = length env) as ->. { destruct (j - length env)%nat as [|[|k]] eqn:D; simpl in R; try discriminate; lia. }
    rewrite Nat.sub_diag in R. injection R as <-. exact M.
Qed.
Lemma both_ok n d e xs : at_bottom n (both n d e) xs = at_bottom n d xs * at_bottom n e xs.
Proof. destruct d, e; simpl; rewrite ?mul_ok; ring. Qed.
Lemma timed_ok n d p xs : ev n (timed n d p) xs = at_bottom n d xs * ev n p xs.
Proof. destruct d; simpl; rewrite ?mul_ok; ring. Qed.
Lemma raised_ok n d xs env : 0 < at_bottom n d xs -> right n xs env values ->
  right (S n) (at_bottom n d xs * nth (length env) values 0 :: xs) (raised n d env) values.
Proof.
  intros P A. unfold raised. apply extended_ok.
  - intros j q Q. unfold quotient in *. rewrite nth_error_map in Q. unfold quotient in *.
    destruct (nth_error env j) as [r|] eqn:R; cbn [option_map] in Q; try discriminate. injection Q as <-.
    destruct (A j r R) as [B C]. unfold means. simpl fst; simpl snd. rewrite !lift_ok. auto.
  - rewrite length_of_map. unfold quotient in *. generalize (nth (length env) values 0). intro x. unfold means. cbn [fst snd].
    replace (ev (S n) (match d with Some d => lift n d | None => cst (S n) 1 end) (at_bottom n d xs * x :: xs)) with (at_bottom n d xs).
    2: { destruct d; cbn [at_bottom]. symmetry. apply lift_ok. rewrite cst_ok, Q1. reflexivity. }
    simpl. unfold horner; simpl. rewrite cst_ok, zero_ok, Q1. split. lra. field. lra.
Qed.
Lemma lifted_ok n (Q : R -> Prop) x xs l : Forall (fun p => Q (ev n p xs)) l -> Forall (fun p => Q (ev (S n) p (x :: xs))) (map (lift n) l).
Proof. intro F. apply Forall_map. eapply Forall_impl; [|exact F]. intros p Hp. rewrite lift_ok. exact Hp. Qed.
Lemma isolated_ok n b positive env p k L xs : inside (S n) b xs -> Pos (S n) xs positive -> right (S n) xs env values ->
  isolated n b positive env p = Some (k, L) -> holds values p ->
  let gap := Q2R k * (hd 0 xs - ev n L (tl xs)) in 0 <= gap /\ (is_equation p = true -> gap = 0) /\ Q2R k <> 0.
Proof.
  intros I P A T H.
  assert (G : forall y z, match slack (S n) b positive short env y z with
      | Some (c :: d :: r) =>
          match constant n d with
          | Some k => if (forallb (vanishes n) r && negb (Qeq_bool k 0))%bool then Some (k, scale n (- / k) c) else None
          | None => None end
      | _ => None end = Some (k, L) ->
      Q2R k <> 0 /\ exists c, 0 < c /\ Q2R k * (hd 0 xs - ev n L (tl xs)) = c * (den values z - den values y)).
  { clear T H. intros y z T. destruct (slack _ _ _ _ _ y z) as [[|c [|d r]]|] eqn:E; try discriminate.
    destruct (constant n d) as [q|] eqn:C; try discriminate.
    destruct (forallb (vanishes n) r && negb (Qeq_bool q 0))%bool eqn:F; try discriminate. injection T as <- <-.
    apply andb_prop in F as [F Z]. apply Bool.negb_true_iff in Z. pose proof (nonzero q Z) as N. split. exact N.
    apply (slack_ok (S n) b positive short xs I P) with (values := values) in E as [m [M E]]; [|exact A].
    exists m. split. exact M. rewrite <- E. simpl. unfold horner; simpl.
    fold (horner (hd 0 xs) (map (fun c => ev n c (tl xs)) r)).
    rewrite (rest_zero n r _ _ F), (constant_ok n d q C (tl xs)), scale_ok, Q2R_opp, Q2R_inv.
    field. exact N. intro K. apply N. apply Qeq_eqR in K. rewrite K. apply Q0. }
  destruct p as [y z|y z|y z| | | | | |]; try discriminate; simpl in H; apply G in T as [N [c [K T]]]; cbn zeta; rewrite T.
  - split. nra. split. discriminate. exact N.
  - split. nra. split. discriminate. exact N.
  - rewrite H. split. lra. split. intros _. ring. exact N.
Qed.
Lemma bound_of_ok n b positive env low p L xs : inside (S n) b xs -> Pos (S n) xs positive -> right (S n) xs env values ->
  bound_of n b positive env low p = Some L -> supposed values p ->
  match L with Some L => if low then ev n L (tl xs) <= hd 0 xs else hd 0 xs <= ev n L (tl xs) | None => True end.
Proof.
  intros I P A. unfold bound_of. destruct p as [p|]; [|intro T; injection T as <-; auto].
  destruct (isolated n b positive env p) as [[k M]|] eqn:E; try discriminate.
  destruct (is_equation p || Qle_bool 0 (if low then k else - k))%bool eqn:B; try discriminate.
  intros T H. injection T as <-. destruct (isolated_ok n b positive env p k M xs I P A E H) as [G [Z N]].
  apply Bool.orb_prop in B as [B|B].
  - specialize (Z B). apply Rmult_integral in Z as [Z|Z]. contradiction. destruct low; lra.
  - apply Qle_bool_iff, Qle_Rle in B. rewrite Q0 in B. destruct low; rewrite ?Q2R_opp in B; nra.
Qed.
Lemma go_ok es : forall n b env positive factors xs i, go es n b env positive factors = true ->
  inside n b xs -> Pos n xs positive -> right n xs env values -> Nonneg n xs factors ->
  length env = i -> meets values i es -> reached values g.
Proof.
  induction es as [|[l h|e|p|p|l h] es IH]; intros n b env positive factors xs i G I P A F N M; cbn [go meets] in G, M.
  - exact (conclude_ok n b env positive factors xs G I P A F).
  - destruct (an_end n b positive env l) as [L|] eqn:EL; try discriminate.
    destruct (an_end n b positive env h) as [H|] eqn:EH; try discriminate.
    apply (an_end_ok n b positive env l xs L I P A) in EL. apply (an_end_ok n b positive env h xs H I P A) in EH.
    assert (BL : 0 < at_bottom n (bottom n L) xs).
    { destruct l, L as [[? ?]|]; try contradiction. exact (proj1 EL). exact Rlt_0_1. }
    assert (BH : 0 < at_bottom n (bottom n H) xs).
    { destruct h, H as [[? ?]|]; try contradiction. exact (proj1 EH). exact Rlt_0_1. }
    set (d := both n (bottom n L) (bottom n H)) in *.
    assert (BD : at_bottom n d xs = at_bottom n (bottom n L) xs * at_bottom n (bottom n H) xs) by apply both_ok.
    assert (BP : 0 < at_bottom n d xs) by (rewrite BD; apply Rmult_lt_0_compat; assumption).
    destruct M as [ML [MH M]]. apply (IH _ _ _ _ _ (at_bottom n d xs * nth i values 0 :: xs) (S i) G); auto.
    + pose proof (Rmult_lt_0_compat _ _ BL BH) as BB. cbn [inside fst snd hd tl]. split; [|split; [|exact I]].
      * destruct l as [l|], L as [[p e]|]; simpl in EL, BB, BD |- *; try tauto. destruct EL as [_ EL].
        rewrite timed_ok, EL, BD. pose proof (Rmult_le_compat_l _ _ _ (Rlt_le _ _ BB) ML). lra.
      * destruct h as [h|], H as [[p e]|]; simpl in EH, BB, BD |- *; try tauto. destruct EH as [_ EH].
        rewrite timed_ok, EH, BD. pose proof (Rmult_le_compat_l _ _ _ (Rlt_le _ _ BB) MH). lra.
    + apply (lifted_ok n (fun r => 0 < r)), P.
    + rewrite <- N. apply raised_ok; assumption.
    + apply (lifted_ok n (fun r => 0 <= r)), F.
    + unfold raised, quotient in *. rewrite length_of_app, length_of_map. simpl. lia.
  - destruct (quo n b positive short env e) as [q|] eqn:Q; try discriminate. destruct M as [E M].
    apply (quo_ok n b positive short xs I P env values e A) in Q.
    apply (IH _ _ _ _ _ xs (S i) G); auto.
    + apply extended_ok. exact A. rewrite N, E. exact Q.
    + unfold quotient in *. rewrite length_of_app. simpl. lia.
  - destruct M as [E M]. destruct (known_ok n b positive env p xs I P A E) as [B C].
    apply (IH _ _ _ _ _ xs i G); auto; apply Forall_app; auto.
  - destruct (isolated n _ _ _ p) as [[k L]|] eqn:Q; try discriminate. apply andb_prop in G as [Z G]. destruct M as [E M].
    destruct (isolated_ok n ((None, None), b) (map (lift n) positive) (raised n None env) p k L (nth (length env) values 0 :: xs)) with (4 := Q) (5 := E) as [_ [D K]].
    + simpl. auto.
    + apply (lifted_ok n (fun r => 0 < r)), P.
    + pose proof (raised_ok n None xs env Rlt_0_1 A) as V. simpl at_bottom in V. rewrite Rmult_1_l in V. exact V.
    + apply (IH _ _ _ _ _ xs (S i) G); auto.
      * apply extended_ok. exact A. specialize (D Z). apply Rmult_integral in D as [D|D]. contradiction.
        simpl in D. unfold means. simpl. rewrite cst_ok, Q1. split. lra. field_simplify. lra.
      * unfold quotient in *. rewrite length_of_app. simpl. lia.
  - destruct n as [|n]; try discriminate.
    destruct (bound_of n b positive env true l) as [L|] eqn:EL; try discriminate.
    destruct (bound_of n b positive env false h) as [H|] eqn:EH; try discriminate. destruct M as [ML [MH M]].
    apply (bound_of_ok n b positive env true l L xs I P A) in EL; [|exact ML].
    apply (bound_of_ok n b positive env false h H xs I P A) in EH; [|exact MH].
    apply (IH _ _ _ _ _ xs i G); auto.
    + simpl in I |- *. destruct I as [_ [_ I]]. destruct L, H; simpl; auto.
    + apply Forall_app. split. exact F.
      apply Forall_app. split; [destruct L|destruct H]; try (apply Forall_cons; [|apply Forall_nil]); try apply Forall_nil;
        simpl; unfold horner; simpl; rewrite ?scale_ok, ?cst_ok, ?Q1, ?minus_one; lra.
Qed.
End Proof.

(* The three parts of ``meets``: the bounds and hypotheses, and both sides of the definitions. *)
Fixpoint bounded (env : list R) (i : nat) (es : list entry) : Prop :=
  match es with
  | [] => True
  | Ranged l h :: es =>
      (match l with Some l => den env l <= nth i env 0 | None => True end) /\
      (match h with Some h => nth i env 0 <= den env h | None => True end) /\ bounded env (S i) es
  | Defined _ :: es => bounded env (S i) es
  | Supposed p :: es => holds env p /\ bounded env i es
  | Ends l h :: es => supposed env l /\ supposed env h /\ bounded env i es
  | Solved p :: es => holds env p /\ bounded env (S i) es
  end.
Fixpoint defined (env : list R) (i : nat) (es : list entry) : list R * list R :=
  match es with
  | [] => ([], [])
  | Ranged _ _ :: es => defined env (S i) es
  | Defined e :: es => let d := defined env (S i) es in (nth i env 0 :: fst d, den env e :: snd d)
  | Supposed _ :: es | Ends _ _ :: es => defined env i es
  | Solved _ :: es => defined env (S i) es
  end.
Lemma meets_ok env es : forall i, fst (defined env i es) = snd (defined env i es) -> bounded env i es -> meets env i es.
Proof.
  induction es as [|[l h|e|p|p|l h] es IH]; simpl; intros i D B; auto.
  2: injection D as D E; auto.
  all: repeat destruct B as [? B]; auto.
Qed.
(* First as short as it may be: a sum of squares may be of the longer formula, and so may be what Bernstein's test shows. *)
Definition shows (es : list entry) (g : goal) : bool :=
  if go g true es O tt [] [] [] then true else go g false es O tt [] [] [].
(* What the rules on symbols use. *)
Theorem shows_ok es g env : shows es g = true ->
  fst (defined env O es) = snd (defined env O es) -> bounded env O es -> reached env g.
Proof.
  intros S D B. pose proof (meets_ok env es O D B) as M.
  assert (G : exists short, go g short es O tt [] [] [] = true).
  { unfold shows in S. destruct (go g true es O tt [] [] []) eqn:T; eauto. }
  destruct G as [short G]. apply (go_ok g short env es O tt [] [] [] [] O G); simpl; auto. intros [|i] q Q; discriminate.
Qed.

(* ---- Cases *)

(* x is one of n + 1 integers, from lo on. *)
Fixpoint from_to (lo : Z) (n : nat) (x : R) : Prop :=
  match n with O => x = IZR lo | S n => x = IZR lo \/ from_to (lo + 1) n x end.
Theorem from_to_ok n : forall lo hi x, integer x -> IZR lo - 1 < x -> x < IZR hi + 1 -> (lo + Z.of_nat n = hi)%Z ->
  from_to lo n x.
Proof.
  induction n as [|n IH]; intros lo hi x [z ->] L H E; rewrite <- minus_IZR in L; rewrite <- plus_IZR in H;
    apply lt_IZR in L, H; simpl.
  - f_equal. lia.
  - destruct (Z.eq_dec z lo) as [->|N]. left; reflexivity. right. apply (IH _ hi); [exists z; reflexivity| | |lia].
    all: rewrite <- ?minus_IZR, <- ?plus_IZR; apply IZR_lt; lia.
Qed.

(* By the sign of a difference, which is known: the smallest or largest of two numbers, and an absolute value. *)
Ltac by_sign := first [assumption | lra].
Ltac decided_signs := repeat match goal with
  | |- context [Rmin ?a ?b] => first [rewrite (Rmin_left a b) by by_sign | rewrite (Rmin_right a b) by by_sign]
  | |- context [Rmax ?a ?b] => first [rewrite (Rmax_left a b) by by_sign | rewrite (Rmax_right a b) by by_sign]
  | |- context [Rabs ?a] => first [rewrite (Rabs_pos_eq a) by by_sign | rewrite (Rabs_left1 a) by by_sign]
  end.

(* ---- Loops: the principle of induction *)

Theorem by_rounds {A : Type} (round : A -> A -> Prop) start (P : R -> A -> Prop) count state :
  iterated round start count state -> P 0 start ->
  (forall passed s t, 0 <= passed -> passed <= count - 1 -> P passed s -> round s t -> P (passed + 1) t) -> P count state.
Proof.
  intros [n [-> T]] B H. assert (G : forall m s, after round start m s -> (m <= n)%nat -> P (INR m) s).
  { intros m s M. induction M as [|m s t M IH Step]; intro L. exact B.
    rewrite S_INR. apply (H (INR m) s t); auto with arith. apply pos_INR.
    pose proof (le_INR _ _ L) as K. rewrite S_INR in K. lra. }
  exact (G n state T (le_n n)).
Qed.

(* Rocq compares formulas by computing these first, and only then looks into the definitions of a file. *)
Strategy expand [nth map den holds reached bounded defined fst snd].
