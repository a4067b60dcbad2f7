(* What theorems about functions rest on, proved once. Vectors and numbers that depend on functions are written symbol
   by symbol, and multiplied out by computation. A theorem's statement names nothing of this file. *)
From Coq Require Import Rbase Rfunctions R_sqrt List Lra Lia.
From Clusterproof Require Import statements tuples prelude.
Import ListNotations.
Open Scope R_scope.

(* ---- Vectors and numbers, symbol by symbol *)

Inductive vector := Base (n : nat) | Sum (a b : vector) | Less (a b : vector) | Multiple (c : formula) (a : vector).
Inductive form :=
| Number (c : formula) | Value (n : nat) | Inner (a b : vector) | Plus (a b : form) | Minus (a b : form)
| Times (c : formula) (a : form) | Over (a : form) (c : formula).
(* A vector as a sum of multiples of base vectors. *)
Definition multiples := list (formula * nat).
(* What is multiplied out: products of base vectors, values, and 1. *)
Inductive key := Product (i j : nat) | Height (n : nat) | One.
Definition same_key (k l : key) : bool :=
  match k, l with
  | Product i j, Product m n => ((i =? m) && (j =? n))%nat%bool
  | Height m, Height n => (m =? n)%nat | One, One => true | _, _ => false end.

Section Collect.
Variable K : Type.
Variable eqb : K -> K -> bool.
Hypothesis eqb_ok : forall k l, eqb k l = true -> k = l.
Fixpoint put (c : formula) (k : K) (l : list (formula * K)) : list (formula * K) :=
  match l with [] => [(c, k)] | (d, m) :: l => if eqb k m then (Add d c, m) :: l else (d, m) :: put c k l end.
Definition collected (l : list (formula * K)) : list (formula * K) :=
  fold_left (fun m t => put (fst t) (snd t) m) l [].
Definition vanishing (es : list entry) (l : list (formula * K)) : bool :=
  forallb (fun t => shows es (Same (fst t) (Num 0))) (collected l).
Variable env : list R.
Variable h : K -> R.
Definition sum_of_terms (l : list (formula * K)) : R := fold_right (fun t s => den env (fst t) * h (snd t) + s) 0 l.
Lemma sum_of_terms_app l m : sum_of_terms (l ++ m) = sum_of_terms l + sum_of_terms m.
Proof. unfold sum_of_terms. induction l as [|t l IH]; simpl. ring. rewrite IH. ring. Qed.
Lemma put_ok c k l : sum_of_terms (put c k l) = den env c * h k + sum_of_terms l.
Proof.
  unfold sum_of_terms. induction l as [|[d m] l IH]; simpl. ring.
  destruct (eqb k m) eqn:E; simpl. apply eqb_ok in E as ->. ring. rewrite IH. ring.
Qed.
Lemma collected_ok l : sum_of_terms (collected l) = sum_of_terms l.
Proof.
  unfold collected. assert (G : forall l m, sum_of_terms (fold_left (fun m t => put (fst t) (snd t) m) l m) = sum_of_terms m + sum_of_terms l).
  { induction l0 as [|[c k] l0 IH]; intro m; simpl. unfold sum_of_terms; simpl. ring.
    rewrite IH, put_ok. unfold sum_of_terms; simpl. ring. }
  rewrite G. unfold sum_of_terms; simpl. ring.
Qed.
Lemma vanishing_ok es l : vanishing es l = true -> fst (defined env 0 es) = snd (defined env 0 es) ->
  bounded env 0 es -> sum_of_terms l = 0.
Proof.
  unfold vanishing. intros E D B. rewrite <- collected_ok. induction (collected l) as [|t m IH]; simpl in *. reflexivity.
  apply andb_prop in E as [E F]. apply (shows_ok es _ env) in E; auto. simpl in E. unfold sum_of_terms in *; simpl. rewrite E, IH by exact F. ring.
Qed.
End Collect.
Arguments collected {K}. Arguments vanishing {K}. Arguments sum_of_terms {K}.

(* By the place of a base vector what it is: as it is written, and as multiples of others. *)
Definition meanings := list (nat * vector * multiples).
Fixpoint meaning (n : nat) (known : meanings) : option multiples :=
  match known with [] => None | (m, _, l) :: known => if (n =? m)%nat then Some l else meaning n known end.
Definition scaled (c : formula) (l : multiples) : multiples := map (fun t => (Mul c (fst t), snd t)) l.
Fixpoint flattened (known : meanings) (c : formula) (e : vector) : multiples :=
  match e with
  | Base n => match meaning n known with Some l => scaled c l | None => [(c, n)] end
  | Sum a b => flattened known c a ++ flattened known c b | Less a b => flattened known c a ++ flattened known (Opp c) b
  | Multiple d a => flattened known (Mul c d) a
  end.
Definition cross (l m : multiples) : list (formula * key) :=
  flat_map (fun s => map (fun t => (Mul (fst s) (fst t), Product (Nat.min (snd s) (snd t)) (Nat.max (snd s) (snd t)))) m) l.
(* Of a value that is written twice, for equal points, the first one. *)
Fixpoint first_of (same : list (nat * nat)) (n : nat) : nat :=
  match same with [] => n | (m, k) :: same => if (n =? m)%nat then k else first_of same n end.
Fixpoint expanded (same : list (nat * nat)) (known : meanings) (c : formula) (e : form) : list (formula * key) :=
  match e with
  | Number d => [(Mul c d, One)] | Value n => [(c, Height (first_of same n))]
  | Inner a b => cross (flattened known c a) (flattened known (Num 1) b)
  | Plus a b => expanded same known c a ++ expanded same known c b | Minus a b => expanded same known c a ++ expanded same known (Opp c) b
  | Times d a => expanded same known (Mul c d) a | Over a d => expanded same known (Div c d) a
  end.
Fixpoint are_right (es : list entry) (later : meanings) (known : meanings) : bool :=
  match later with
  | [] => true
  | (n, e, l) :: later =>
      (vanishing Nat.eqb es (flattened known (Num 1) e ++ scaled (Opp (Num 1)) l) && are_right es later ((n, e, l) :: known))%bool
  end.
Fixpoint all_known (later known : meanings) : meanings :=
  match later with [] => known | d :: later => all_known later (d :: known) end.

(* Minus the form of base vectors that upper rows of a matrix are. *)
Fixpoint row_of (i j : nat) (r : list Z) : list (formula * key) :=
  match r with [] => [] | b :: r => (Opp (Num (2 * b)), Product i j) :: row_of i (S j) r end.
Fixpoint matrix_of (i : nat) (m : list (list Z)) : list (formula * key) :=
  match m with
  | [] => []
  | r :: m => match r with [] => [] | a :: r => (Opp (Num a), Product i i) :: row_of i (S i) r end ++ matrix_of (S i) m end.

(* The product of the second ones; each is at least a product of positive numbers. *)
Definition product_of (l : list (list formula * formula)) : formula := fold_right Mul (Num 1) (map snd l).
Definition all_positive (es : list entry) (l : list (list formula * formula)) : bool :=
  forallb (fun t => (forallb (fun p => shows es (Never (Le p (Num 0)))) (fst t) &&
                     shows es (Below (fold_right Mul (Num 1) (fst t)) (snd t) []))%bool) l.
(* With any number of functions: the vectors that all functions share, and the vectors with mean 0. Their products are 0. *)
Definition kinds : Type := list nat * list nat.
Definition within (n : nat) (l : list nat) : bool := existsb (Nat.eqb n) l.
Definition orthogonal (ks : kinds) (k : key) : bool :=
  match k with
  | Product i j => ((within i (fst ks) && within j (snd ks)) || (within j (fst ks) && within i (snd ks)))%bool
  | _ => false end.
(* The mean of a vector, by what the shared vectors contribute to it, is another one. *)
Definition is_mean (es : list entry) (ks : kinds) (later : meanings) (e w : vector) : bool :=
  let known := all_known later [] in let l := flattened known (Num 1) e in
  (are_right es later [] && forallb (fun t => within (snd t) (fst ks) || within (snd t) (snd ks))%bool l &&
   vanishing Nat.eqb es (filter (fun t => within (snd t) (fst ks)) l ++ flattened known (Opp (Num 1)) w))%bool.
(* A number is at least 0: it times positive numbers is a sum of multiples of numbers that are, of squares, of a matrix without
   negative eigenvalues, and of 1. *)
Definition proves (es : list entry) (same : list (nat * nat)) (later : meanings) (scale : list (list formula * formula)) (e : form) (given : list (formula * form))
    (squares : list (formula * vector)) (matrix : list (list Z)) (rest : formula) (ks : kinds) : bool :=
  let known := all_known later [] in
  (are_right es later [] && forallb (fun t => shows es (Below (Num 0) (fst t) [])) given &&
   forallb (fun t => shows es (Below (Num 0) (fst t) [])) squares && shows es (Below (Num 0) rest []) &&
   all_positive es scale && semidefinite (length matrix) 1 matrix &&
   vanishing same_key es (filter (fun t => negb (orthogonal ks (snd t))) (expanded same known (product_of scale) e ++ flat_map (fun t => expanded same known (Opp (fst t)) (snd t)) given ++
     flat_map (fun t => expanded same known (Opp (fst t)) (Inner (snd t) (snd t))) squares ++ matrix_of 0 matrix ++
     [(Opp rest, One)])))%bool.

Section Meaning.
Variable S : space.
Variable env : list R.
Variable v : nat -> V S.
Variable val : nat -> R.
Fixpoint vec (e : vector) : V S :=
  match e with
  | Base n => v n | Sum a b => vec a [+] vec b | Less a b => vec a [-] vec b | Multiple c a => den env c [*] vec a end.
Fixpoint sem (e : form) : R :=
  match e with
  | Number c => den env c | Value n => val n | Inner a b => <<vec a, vec b>> | Plus a b => sem a + sem b
  | Minus a b => sem a - sem b | Times c a => den env c * sem a | Over a c => sem a / den env c end.

Definition like (x y : V S) : Prop := forall z, <<x, z>> = <<y, z>>.
Definition sum_along (z : V S) (l : multiples) : R := sum_of_terms env (fun n => <<v n, z>>) l.
Lemma ip_difference (x y z : V S) : <<x [-] y, z>> = <<x, z>> - <<y, z>>.
Proof. unfold difference. rewrite ip_plus, ip_times. ring. Qed.
Lemma ip_difference_r (x y z : V S) : <<z, x [-] y>> = <<z, x>> - <<z, y>>.
Proof. rewrite ip_sym, ip_difference, (ip_sym S x), (ip_sym S y). reflexivity. Qed.
Lemma sum_along_scaled c l z : sum_along z (scaled c l) = den env c * sum_along z l.
Proof. unfold sum_along, sum_of_terms. induction l as [|t l IH]; simpl. ring. rewrite IH. ring. Qed.
Definition all_right (known : meanings) : Prop := forall n l, meaning n known = Some l -> forall z, <<v n, z>> = sum_along z l.
Lemma flattened_ok known : all_right known -> forall e c z, sum_along z (flattened known c e) = den env c * <<vec e, z>>.
Proof.
  intro K. induction e; intros k z; simpl.
  - destruct (meaning n known) as [l|] eqn:M. rewrite sum_along_scaled, (K _ _ M). reflexivity. unfold sum_along, sum_of_terms; simpl. ring.
  - unfold sum_along in *. rewrite sum_of_terms_app, IHe1, IHe2, ip_plus. ring.
  - unfold sum_along in *. rewrite sum_of_terms_app, IHe1, IHe2, ip_difference. simpl. ring.
  - rewrite IHe, ip_times. simpl. ring.
Qed.
Definition at_key (k : key) : R := match k with Product i j => <<v i, v j>> | Height n => val n | One => 1 end.
Lemma at_product i j : at_key (Product (Nat.min i j) (Nat.max i j)) = <<v i, v j>>.
Proof.
  simpl. destruct (Nat.le_gt_cases i j).
  - rewrite Nat.min_l, Nat.max_r by lia. reflexivity.
  - rewrite Nat.min_r, Nat.max_l by lia. apply ip_sym.
Qed.
Lemma row_ok c i m :
  sum_of_terms env at_key (map (fun t => (Mul c (fst t), Product (Nat.min i (snd t)) (Nat.max i (snd t)))) m) = den env c * sum_along (v i) m.
Proof.
  unfold sum_along, sum_of_terms. induction m as [|[d j] m IH]; cbn [map fold_right fst snd]. ring.
  rewrite IH, at_product, (ip_sym S (v i) (v j)). simpl. ring.
Qed.
Lemma cross_ok l m (x y : V S) : (forall z, sum_along z l = <<x, z>>) -> (forall z, sum_along z m = <<y, z>>) ->
  sum_of_terms env at_key (cross l m) = <<x, y>>.
Proof.
  intros L M. rewrite <- L. unfold sum_along at 1, cross. clear L. induction l as [|[c i] l IH]; simpl. reflexivity.
  rewrite sum_of_terms_app, IH, row_ok, M, (ip_sym S y). reflexivity.
Qed.
Fixpoint equal_values (same : list (nat * nat)) : Prop :=
  match same with [] => True | (m, k) :: same => val m = val k /\ equal_values same end.
Lemma first_of_ok same n : equal_values same -> val (first_of same n) = val n.
Proof.
  induction same as [|[m k] same IH]; simpl; intro E. reflexivity. destruct E as [E F].
  destruct (n =? m)%nat eqn:Q. apply Nat.eqb_eq in Q as ->. symmetry. exact E. exact (IH F).
Qed.
Lemma expanded_ok same known : equal_values same -> all_right known -> forall e c, sum_of_terms env at_key (expanded same known c e) = den env c * sem e.
Proof.
  intros W K. induction e; intro k; simpl.
  - unfold sum_of_terms; simpl. ring.
  - unfold sum_of_terms; simpl. rewrite first_of_ok by exact W. ring.
  - rewrite (cross_ok _ _ (den env k [*] vec a) (vec b)). apply ip_times.
    intro z. rewrite flattened_ok, ip_times by exact K. reflexivity. intro z. rewrite flattened_ok by exact K. simpl. ring.
  - rewrite sum_of_terms_app, IHe1, IHe2. ring.
  - rewrite sum_of_terms_app, IHe1, IHe2. simpl. ring.
  - rewrite IHe. simpl. ring.
  - rewrite IHe. simpl. unfold Rdiv. ring.
Qed.

Variable es : list entry.
Hypothesis D : fst (defined env 0 es) = snd (defined env 0 es).
Hypothesis B : bounded env 0 es.
Fixpoint mean_it (later : meanings) : Prop :=
  match later with [] => True | (n, e, _) :: later => like (v n) (vec e) /\ mean_it later end.
Lemma are_right_ok later : forall known, all_right known -> are_right es later known = true -> mean_it later -> all_right (all_known later known).
Proof.
  induction later as [|[[n e] l] later IH]; intros known K E M; simpl in *. exact K.
  apply andb_prop in E as [E F]. destruct M as [M N]. apply IH; auto.
  intros m k H z. simpl in H. destruct (m =? n)%nat eqn:Q; [|exact (K m k H z)].
  injection H as <-. apply Nat.eqb_eq in Q as ->. rewrite (M z).
  apply (vanishing_ok nat Nat.eqb (fun i j => proj1 (Nat.eqb_eq i j)) env (fun i => <<v i, z>>)) in E; auto.
  rewrite sum_of_terms_app in E. change (sum_of_terms env (fun i => <<v i, z>>)) with (sum_along z) in E.
  rewrite flattened_ok, sum_along_scaled in E by exact K. simpl in E. lra.
Qed.
Fixpoint shifted_by (i : nat) : nat -> V S := match i with O => v | Datatypes.S i => later S (shifted_by i) end.
Lemma shifted_ok i : forall k, shifted_by i k = v (i + k)%nat.
Proof. induction i; intro k; simpl. reflexivity. unfold later. rewrite IHi, Nat.add_succ_r. reflexivity. Qed.
Lemma row_of_ok i r : forall j, sum_of_terms env at_key (row_of i j r) = - (2 * <<v i, comb S r (shifted_by j)>>).
Proof.
  induction r as [|b r IH]; intro j; cbn [row_of comb]. rewrite ip_origin_r. unfold sum_of_terms; simpl. ring.
  change (sum_of_terms env at_key (?t :: ?l)) with (den env (fst t) * at_key (snd t) + sum_of_terms env at_key l).
  rewrite IH. cbn [den fst snd at_key]. rewrite ip_plus_r, ip_times_r, shifted_ok, Nat.add_0_r, mult_IZR. simpl. ring.
Qed.
Lemma matrix_ok m : forall i, sum_of_terms env at_key (matrix_of i m) = - quad S m (shifted_by i).
Proof.
  induction m as [|[|a r] m IH]; intro i; simpl. unfold sum_of_terms; simpl. ring.
  - rewrite IH. simpl. ring.
  - change (sum_of_terms env at_key (?t :: ?l)) with (den env (fst t) * at_key (snd t) + sum_of_terms env at_key l).
    rewrite sum_of_terms_app, IH, row_of_ok. simpl. rewrite shifted_ok, Nat.add_0_r. ring.
Qed.
Theorem same_points later a b : are_right es later [] = true -> mean_it later ->
  vanishing Nat.eqb es (flattened (all_known later []) (Num 1) a ++ flattened (all_known later []) (Opp (Num 1)) b) = true ->
  vec a = vec b.
Proof.
  intros E M V. assert (K : all_right (all_known later [])) by (apply are_right_ok; auto; intros n l H; discriminate).
  assert (L : like (vec a) (vec b)).
  { intro z. apply (vanishing_ok nat Nat.eqb (fun i j => proj1 (Nat.eqb_eq i j)) env (fun i => <<v i, z>>)) in V; auto.
    rewrite sum_of_terms_app in V. change (sum_of_terms env (fun i => <<v i, z>>)) with (sum_along z) in V.
    rewrite !flattened_ok in V by exact K. simpl in V. lra. }
  assert (N : vec a [-] vec b = origin S).
  { apply ip_definite. rewrite ip_difference, !ip_difference_r, (L (vec a)), (L (vec b)). ring. }
  rewrite <- (plus_origin S (vec a)), <- (plus_opposite S (vec b)), (plus_comm S (vec b)), plus_assoc.
  change (vec a [-] vec b [+] vec b = vec b). rewrite N, plus_comm. apply plus_origin.
Qed.
Variable mean : V S -> V S.
Fixpoint all_shared (l : list nat) : Prop := match l with [] => True | i :: l => mean (v i) = v i /\ all_shared l end.
Fixpoint all_apart (l : list nat) : Prop := match l with [] => True | i :: l => mean (v i) = origin S /\ all_apart l end.
Definition right_kinds (ks : kinds) : Prop := all_shared (fst ks) /\ all_apart (snd ks).
Lemma shared_one i l : within i l = true -> all_shared l -> mean (v i) = v i.
Proof. induction l; simpl; intros E H. discriminate. destruct H as [H K]. apply Bool.orb_prop in E as [E|E]; auto. apply Nat.eqb_eq in E as ->. exact H. Qed.
Lemma apart_one i l : within i l = true -> all_apart l -> mean (v i) = origin S.
Proof. induction l; simpl; intros E H. discriminate. destruct H as [H K]. apply Bool.orb_prop in E as [E|E]; auto. apply Nat.eqb_eq in E as ->. exact H. Qed.
Lemma orthogonal_ok ks k : projection mean -> right_kinds ks -> orthogonal ks k = true -> at_key k = 0.
Proof.
  intros [_ A] [H K] E. destruct k as [i j| |]; try discriminate. simpl in *.
  assert (G : forall m n, within m (fst ks) = true -> within n (snd ks) = true -> <<v m, v n>> = 0).
  { intros m n M N. rewrite <- (shared_one _ _ M H), A, (apart_one _ _ N K). apply ip_origin_r. }
  apply Bool.orb_prop in E as [E|E]; apply andb_prop in E as [E F]; auto. rewrite ip_sym. auto.
Qed.
Lemma without_orthogonal ks l : projection mean -> right_kinds ks ->
  sum_of_terms env at_key (filter (fun t => negb (orthogonal ks (snd t))) l) = sum_of_terms env at_key l.
Proof.
  intros A H. unfold sum_of_terms. induction l as [|t l IH]; simpl. reflexivity.
  destruct (orthogonal ks (snd t)) eqn:E; simpl; rewrite IH. rewrite (orthogonal_ok _ _ A H E). ring. reflexivity.
Qed.
Theorem same_mean ks later e w : projection mean -> right_kinds ks -> mean_it later -> is_mean es ks later e w = true ->
  like (mean (vec e)) (vec w).
Proof.
  unfold is_mean. intros [_ A] [H N] M E z. apply andb_prop in E as [E F]. apply andb_prop in E as [E G].
  assert (K : all_right (all_known later [])) by (apply are_right_ok; auto; intros n l X; discriminate).
  apply (vanishing_ok nat Nat.eqb (fun i j => proj1 (Nat.eqb_eq i j)) env (fun i => <<v i, z>>)) in F; auto.
  rewrite sum_of_terms_app in F. change (sum_of_terms env (fun i => <<v i, z>>)) with (sum_along z) in F.
  rewrite flattened_ok in F by exact K. simpl in F.
  assert (X : sum_along (mean z) (flattened (all_known later []) (Num 1) e) =
    sum_along z (filter (fun t => within (snd t) (fst ks)) (flattened (all_known later []) (Num 1) e))).
  { revert G. generalize (flattened (all_known later []) (Num 1) e). intro l. induction l as [|t l IH]; intro G. reflexivity.
    cbn [forallb] in G. apply andb_prop in G as [G L]. specialize (IH L). cbn [filter].
    change (sum_along (mean z) (t :: l)) with (den env (fst t) * <<v (snd t), mean z>> + sum_along (mean z) l). rewrite IH, <- A.
    destruct (within (snd t) (fst ks)) eqn:W.
    - rewrite (shared_one _ _ W H). reflexivity.
    - simpl in G. rewrite (apart_one _ _ G N), ip_origin. ring. }
  rewrite flattened_ok in X by exact K. simpl in X. rewrite A. lra.
Qed.
Fixpoint hold (given : list (formula * form)) : Prop :=
  match given with [] => True | t :: given => 0 <= sem (snd t) /\ hold given end.
Lemma same_key_ok k l : same_key k l = true -> k = l.
Proof.
  destruct k, l; simpl; try discriminate; intro E; try reflexivity.
  apply andb_prop in E as [E F]. apply Nat.eqb_eq in E as ->, F as ->. reflexivity. apply Nat.eqb_eq in E as ->. reflexivity.
Qed.
Lemma shown_nonneg c : shows es (Below (Num 0) c []) = true -> 0 <= den env c.
Proof. intro E. apply (shows_ok es _ env) in E; auto. Qed.

Lemma positive_factors l : forallb (fun p => shows es (Never (Le p (Num 0)))) l = true -> 0 < den env (fold_right Mul (Num 1) l).
Proof.
  induction l as [|p l IH]; simpl; intro E. lra. apply andb_prop in E as [P E]. apply (shows_ok es _ env) in P; auto.
  simpl in P. apply Rnot_le_lt in P. apply Rmult_lt_0_compat; auto.
Qed.
Lemma positive_product l : all_positive es l = true -> 0 < den env (product_of l).
Proof.
  unfold all_positive, product_of. induction l as [|[s p] l IH]; simpl; intro E. lra.
  apply andb_prop in E as [E F]. apply andb_prop in E as [P E]. apply positive_factors in P. apply (shows_ok es _ env) in E; auto.
  simpl in E. apply Rmult_lt_0_compat; auto. lra.
Qed.

Theorem proves_ok same later scale e given squares matrix rest ks : projection mean -> right_kinds ks ->
  proves es same later scale e given squares matrix rest ks = true -> equal_values same -> mean_it later -> hold given -> 0 <= sem e.
Proof.
  intros A R. unfold proves. intros E W M G. repeat (apply andb_prop in E as [E ?F]). rename F into Z, F0 into T, F1 into N, F2 into C, F3 into Q, F4 into P.
  apply (semidefinite_ok S _ _ _ v) in T; [|lia]. pose proof (matrix_ok matrix 0) as U. change (shifted_by 0) with v in U.
  assert (K : all_right (all_known later [])) by (apply are_right_ok; auto; intros n l H; discriminate).
  apply (vanishing_ok key same_key same_key_ok env at_key) in Z; auto. rewrite (without_orthogonal _ _ A R), !sum_of_terms_app, expanded_ok in Z by assumption.
  apply shown_nonneg in C.
  apply positive_product in N.
  assert (X : sum_of_terms env at_key (flat_map (fun t => expanded same (all_known later []) (Opp (fst t)) (snd t)) given) <= 0).
  { clear - G P K D B W. induction given as [|t l IH]; simpl in *. unfold sum_of_terms; simpl. lra.
    apply andb_prop in P as [P P']. apply shown_nonneg in P. destruct G as [G G']. rewrite sum_of_terms_app, expanded_ok by assumption. simpl.
    specialize (IH P' G'). pose proof (Rmult_le_pos _ _ P G). lra. }
  assert (Y : sum_of_terms env at_key (flat_map (fun t => expanded same (all_known later []) (Opp (fst t)) (Inner (snd t) (snd t))) squares) <= 0).
  { clear - Q K D B W. induction squares as [|t l IH]; cbn [flat_map forallb] in *. unfold sum_of_terms; simpl. lra.
    apply andb_prop in Q as [P P']. apply shown_nonneg in P. rewrite sum_of_terms_app, expanded_ok by assumption. cbn [den sem].
    specialize (IH P'). pose proof (Rmult_le_pos _ _ P (ip_pos S (vec (snd t)))). lra. }
  change (sum_of_terms env at_key [(Opp rest, One)]) with (- den env rest * 1 + 0) in Z. change (den env (Num 0)) with 0 in C.
  apply Rmult_le_reg_l with (den env (product_of scale)). exact N. rewrite Rmult_0_r. lra.
Qed.
Lemma below a b : 0 <= sem (Minus b a) -> sem a <= sem b.
Proof. simpl. lra. Qed.

(* ---- What holds at points of a member of a class *)

Record triplet := Triplet { point : vector; slope : vector; height : form }.
Variable f : V S -> R.
Variable g : V S -> V S.
Definition of_function (t : triplet) : Prop := like (vec (slope t)) (g (vec (point t))) /\ sem (height t) = f (vec (point t)).

Definition convex_pair (mu : formula) (s t : triplet) : form :=
  let d := Less (point s) (point t) in
  Minus (Minus (Minus (height s) (height t)) (Inner (slope t) d)) (Times (Div mu (Num 2)) (Inner d d)).
Definition smooth_pair (mu L : formula) (s t : triplet) : form :=
  let r := Less (Less (slope s) (slope t)) (Multiple mu (Less (point s) (point t))) in
  Minus (convex_pair mu s t) (Over (Inner r r) (Mul (Num 2) (Sub L mu))).
Lemma convex_pair_holds mu s t : strongly_convex (den env mu) f g -> of_function s -> of_function t -> 0 <= sem (convex_pair mu s t).
Proof.
  intros C [_ H] [G K]. simpl. rewrite H, K, (G _). pose proof (C (vec (point t)) (vec (point s))) as I. lra.
Qed.
(* A. B. Taylor, J. M. Hendrickx and F. Glineur, Math. Program. 161 (2017), Theorem 4: here it is proved. *)
Lemma smooth_pair_holds mu L s t : den env mu < den env L -> strongly_convex (den env mu) f g -> upper_smooth (den env L) f g ->
  of_function s -> of_function t -> 0 <= sem (smooth_pair mu L s t).
Proof.
  intros A C U [E H] [G K]. simpl. set (m := den env mu) in *. set (l := den env L) in *.
  rewrite H, K. set (x := vec (point s)) in *. set (y := vec (point t)) in *.
  set (p := vec (slope s)) in *. set (q := vec (slope t)) in *.
  set (r := p [-] q [-] m [*] (x [-] y)). set (k := / (l - m)).
  assert (P : 0 < k) by (unfold k; apply Rinv_0_lt_compat; lra).
  pose proof (C y (x [+] (- k) [*] r)) as I. pose proof (U x (x [+] (- k) [*] r)) as J.
  replace (/ (2 * (l - m))) with (k / 2) by (unfold k; field; lra).
  assert (N : l = m + / k) by (unfold k; rewrite Rinv_inv; ring).
  unfold Rdiv. replace (/ (2 * (l - m))) with (k / 2) by (unfold k; field; lra).
  apply Rge_le in I. pose proof (Rle_trans _ _ _ I J) as O. clear I J.
  rewrite <- (G _), <- (E _) in O.
  assert (W : <<r, r>> = <<p, r>> - <<q, r>> - m * (<<x, r>> - <<y, r>>)).
  { unfold r at 1. rewrite !ip_difference, ip_times, ip_difference. ring. }
  unfold difference in O.
  repeat (rewrite ?ip_plus, ?ip_plus_r, ?ip_times, ?ip_times_r, ?ip_difference, ?ip_difference_r in O).
  repeat (rewrite ?ip_difference, ?ip_difference_r).
  rewrite ?(ip_sym S r x), ?(ip_sym S r y), ?(ip_sym S y x) in O. rewrite ?(ip_sym S y x).
  rewrite N in O. 
  match goal with |- 0 <= ?z => match type of O with ?a <= ?b => replace z with (b - a); [lra|] end end.
  rewrite W. field. lra.
Qed.
Lemma smooth_is L : smooth (den env L) f g -> strongly_convex (den env (Opp L)) f g /\ upper_smooth (den env L) f g.
Proof.
  intro H. split; intros x y; pose proof (H x y) as K; simpl; unfold Rabs in K; destruct (Rcase_abs _); lra.
Qed.
Definition bounded_point (L : formula) (m : form) (t : triplet) : form :=
  Minus (Minus (height t) m) (Over (Inner (slope t) (slope t)) (Mul (Num 2) L)).
Lemma bounded_point_holds L m t : 0 < den env L -> upper_smooth (den env L) f g -> bounded_below (sem m) f -> of_function t ->
  0 <= sem (bounded_point L m t).
Proof.
  intros P U W [G K]. simpl. set (l := den env L) in *. set (x := vec (point t)) in *. set (p := vec (slope t)) in *.
  pose proof (U x (x [-] (/ l) [*] g x)) as I. pose proof (W (x [-] (/ l) [*] g x)) as J. rewrite K.
  assert (E : <<p, p>> = <<g x, g x>>) by (rewrite G, (ip_sym S (g x) p), G; reflexivity). rewrite E.
  unfold difference in I, J. repeat (rewrite ?ip_plus, ?ip_plus_r, ?ip_times, ?ip_times_r in I).
  rewrite ?(ip_sym S x (g x)) in I. pose proof (Rle_trans _ _ _ J I) as O.
  match type of O with _ <= ?r => replace r with (f x - <<g x, g x>> / (2 * l)) in O by (field; lra) end. lra.
Qed.
Definition short_point (M : formula) (t : triplet) : form := Minus (Number (Pow M 2)) (Inner (slope t) (slope t)).
Lemma norm_square (x : V S) : norm x * norm x = <<x, x>>.
Proof. apply sqrt_sqrt, ip_pos. Qed.
Lemma short_point_holds M mu t : 0 <= den env mu -> strongly_convex (den env mu) f g -> lipschitz (den env M) f -> of_function t ->
  0 <= sem (short_point M t).
Proof.
  intros P C W [G K]. simpl. set (m := den env M) in *. set (x := vec (point t)) in *. set (p := vec (slope t)) in *.
  assert (E : <<p, p>> = <<g x, g x>>) by (rewrite G, (ip_sym S (g x) p), G; reflexivity). rewrite E.
  pose proof (C x (x [+] g x)) as I. pose proof (W (x [+] g x) x) as J. clear W.
  assert (W : forall z, <<(x [+] g x) [-] x, z>> = <<g x, z>>) by (intro z; rewrite ip_difference, ip_plus; ring).
  rewrite (ip_sym S (g x)), W in I. unfold norm in J. rewrite !W, !(ip_sym S (g x) (_ [-] _)), !W in *.
  rewrite <- (norm_square (g x)) in *. unfold norm in *. set (n := sqrt <<g x, g x>>) in *.
  assert (N : 0 <= n) by apply sqrt_pos. rewrite (sqrt_square n N) in J.
  pose proof (Rle_trans _ _ _ (Rle_abs _) J). pose proof (Rmult_le_pos _ _ P (Rmult_le_pos _ _ N N)). nra.
Qed.
End Meaning.

Section Operators.
Variable S : space.
Variable env : list R.
Variable v : nat -> V S.
Variable val : nat -> R.
Notation vec := (vec S env v). Notation sem := (sem S env v val).
Variable A : V S -> V S.
Definition of_operator (t : triplet) : Prop := like S (vec (slope t)) (A (vec (point t))).
Definition points_apart (s t : triplet) : vector := Less (point s) (point t).
Definition slopes_apart (s t : triplet) : vector := Less (slope s) (slope t).
Definition monotone_pair (mu : formula) (s t : triplet) : form :=
  Minus (Inner (slopes_apart s t) (points_apart s t)) (Times mu (Inner (points_apart s t) (points_apart s t))).
Definition cocoercive_pair (beta : formula) (s t : triplet) : form :=
  Minus (Inner (slopes_apart s t) (points_apart s t)) (Times beta (Inner (slopes_apart s t) (slopes_apart s t))).
Definition lipschitz_pair (L : formula) (s t : triplet) : form :=
  Minus (Times (Pow L 2) (Inner (points_apart s t) (points_apart s t))) (Inner (slopes_apart s t) (slopes_apart s t)).
Lemma slopes_apart_is s t : of_operator s -> of_operator t -> like S (vec (slopes_apart s t)) (A (vec (point s)) [-] A (vec (point t))).
Proof. intros G H z. simpl. rewrite !ip_difference, (G z), (H z). reflexivity. Qed.
Lemma square_is (x y : V S) : like S x y -> <<x, x>> = <<y, y>>.
Proof. intro E. rewrite E, (ip_sym S y x), E. reflexivity. Qed.
Lemma monotone_pair_holds mu s t : strongly_monotone (den env mu) A -> of_operator s -> of_operator t -> 0 <= sem (monotone_pair mu s t).
Proof.
  intros M G H. pose proof (slopes_apart_is s t G H) as E. pose proof (M (vec (point s)) (vec (point t))) as I.
  unfold monotone_pair. cbn [duals.sem]. rewrite (E _). cbn [points_apart duals.vec]. lra.
Qed.
Lemma cocoercive_pair_holds beta s t : cocoercive (den env beta) A -> of_operator s -> of_operator t -> 0 <= sem (cocoercive_pair beta s t).
Proof.
  intros M G H. pose proof (slopes_apart_is s t G H) as E. pose proof (M (vec (point s)) (vec (point t))) as I.
  unfold cocoercive_pair. cbn [duals.sem]. rewrite (square_is _ _ E), (E _). cbn [points_apart duals.vec]. lra.
Qed.
Lemma lipschitz_pair_holds L s t : lipschitz_operator (den env L) A -> of_operator s -> of_operator t -> 0 <= sem (lipschitz_pair L s t).
Proof.
  intros M G H. pose proof (slopes_apart_is s t G H) as E. pose proof (M (vec (point s)) (vec (point t))) as I.
  unfold lipschitz_pair. cbn [duals.sem]. rewrite (square_is _ _ E). cbn [points_apart duals.vec den].
  rewrite <- !norm_square. set (a := norm _) in *. set (b := norm _) in *.
  assert (0 <= a) by apply sqrt_pos. pose proof (Rmult_le_compat a _ a _ H0 H0 I I). simpl. lra.
Qed.
End Operators.

(* ---- What a file's proofs use *)

Lemma every_vector (S : space) : projection (fun x : V S => x).
Proof. split; reflexivity. Qed.
Lemma by_parts (S : space) (mean : V S -> V S) (x : V S) : like S x (mean x [+] (x [-] mean x)).
Proof. intro z. rewrite ip_plus, ip_difference. ring. Qed.
Lemma mean_of_mean (S : space) (mean : V S -> V S) (x : V S) : projection mean -> mean (mean x) = mean x.
Proof. intros [P _]. apply P. Qed.
Lemma mean_of_rest (S : space) (mean : V S -> V S) (x : V S) : projection mean -> mean (x [-] mean x) = origin S.
Proof. intros [P A]. apply ip_definite. rewrite A, !ip_difference, <- A, (P (x [-] mean x)). rewrite <- A. ring. Qed.
Lemma by_zero (S : space) env v e c n : vec S env v e = origin S -> like S (v n) (vec S env v (Less (Base n) (Multiple c e))).
Proof. intros E z. simpl. rewrite ip_difference, ip_times, E, ip_origin. ring. Qed.
Lemma strictly env es a b : fst (defined env 0 es) = snd (defined env 0 es) -> bounded env 0 es ->
  shows es (Never (Le a b)) = true -> den env b < den env a.
Proof. intros D B E. apply (shows_ok es _ env) in E; auto. apply Rnot_le_lt. exact E. Qed.
Lemma nonneg_gap (S : space) env v val a b : sem S env v val a <= sem S env v val b -> 0 <= sem S env v val (Minus b a).
Proof. simpl. lra. Qed.
Lemma nonneg_square (S : space) env v val a b c : den env a <= den env b -> 0 <= sem S env v val (Times (Sub b a) (Inner c c)).
Proof. intro H. simpl. apply Rmult_le_pos. lra. apply ip_pos. Qed.
Theorem rounds_keep {A : Type} (round : nat -> A -> A) (start : A) (P : R -> A -> Prop) (n : nat) : P 0 start ->
  (forall m s, 0 <= INR m -> INR m <= INR n - 1 -> P (INR m) s -> P (INR m + 1) (round m s)) ->
  P (INR n) (after_rounds round start n).
Proof.
  intros B H. assert (G : forall m, (m <= n)%nat -> P (INR m) (after_rounds round start m)); [|exact (G n (le_n n))].
  induction m as [|m IH]; intro L. exact B. rewrite S_INR. simpl. apply H. apply pos_INR.
  pose proof (le_INR _ _ L) as K. rewrite S_INR in K. lra. apply IH. lia.
Qed.
Lemma by_proximal (S : space) (s L : R) (f : V S -> R) (g p : V S -> V S) (x : V S) : upper_smooth L f g -> proximal s f p -> 0 < s ->
  like S (p x) (x [-] s [*] g (p x)).
Proof.
  intros U P H. set (y := p x). set (v := y [-] x [+] s [*] g y).
  assert (N : <<v, v>> <= 0).
  { set (c := s * Rabs L + 1). assert (C : 1 <= c) by (unfold c; pose proof (Rmult_le_pos _ _ (Rlt_le _ _ H) (Rabs_pos L)); lra).
    set (t := / c). assert (T : 0 < t) by (apply Rinv_0_lt_compat; lra). assert (TC : t * c = 1) by (apply Rinv_l; lra).
    set (d := (- t) [*] v). pose proof (P x (y [+] d)) as I. pose proof (U y (y [+] d)) as J. fold y in I.
    assert (E : forall z, <<(y [+] d) [-] y, z>> = <<d, z>>) by (intro z; rewrite ip_difference, ip_plus; ring).
    rewrite (ip_sym S (g y)), !E, (ip_sym S d (_ [-] _)), E in J.
    assert (F : <<(y [+] d) [-] x, (y [+] d) [-] x>> = <<y [-] x, y [-] x>> + 2 * <<d, y [-] x>> + <<d, d>>).
    { repeat (rewrite ?ip_difference, ?ip_difference_r, ?ip_plus, ?ip_plus_r). rewrite (ip_sym S y d), (ip_sym S x d). ring. }
    rewrite F in I.
    assert (G : <<d, v>> = <<d, y [-] x>> + s * <<d, g y>>) by (unfold v; rewrite ip_plus_r, ip_times_r; reflexivity).
    assert (K : 0 <= 2 * <<d, v>> + c * <<d, d>>).
    { pose proof (ip_pos S d). pose proof (Rle_abs L). rewrite G. unfold c.
      assert (L / 2 * <<d, d>> <= Rabs L / 2 * <<d, d>>) by (apply Rmult_le_compat_r; lra).
      assert (M : 0 <= (<<d, g y>> + Rabs L / 2 * <<d, d>>) * (2 * s) + 2 * <<d, y [-] x>> + <<d, d>>).
      { assert (W : 0 <= <<d, g y>> + Rabs L / 2 * <<d, d>> + (2 * <<d, y [-] x>> + <<d, d>>) / (2 * s)) by lra.
        apply (Rmult_le_compat_r (2 * s)) in W; [|lra]. rewrite Rmult_0_l in W.
        replace ((<<d, g y>> + Rabs L / 2 * <<d, d>> + (2 * <<d, y [-] x>> + <<d, d>>) / (2 * s)) * (2 * s))
          with ((<<d, g y>> + Rabs L / 2 * <<d, d>>) * (2 * s) + (2 * <<d, y [-] x>> + <<d, d>>)) in W by (field; lra). lra. }
      lra. }
    unfold d in K. rewrite !ip_times, !ip_times_r in K.
    replace (2 * (- t * <<v, v>>) + c * (- t * (- t * <<v, v>>))) with (- (t * <<v, v>>) + (t * c - 1) * (t * <<v, v>>)) in K by ring.
    rewrite TC in K. pose proof (ip_pos S v). nra. }
  assert (Z : v = origin S) by (apply ip_definite; pose proof (ip_pos S v); lra).
  intro z. assert (Q : <<v, z>> = 0) by (rewrite Z; apply ip_origin). unfold v in Q.
  rewrite ip_plus, ip_difference, ip_times in Q. rewrite ip_difference, ip_times. lra.
Qed.
Lemma by_equation (S : space) (x y : V S) : x = y -> like S x y.
Proof. intros -> z. reflexivity. Qed.

(* ---- The least of several numbers is at most a bound: one of them is, as a mean of them is *)

Fixpoint one_below (S : space) env v val (l : list (formula * form)) (b : form) : Prop :=
  match l with
  | [] => False | [(_, m)] => sem S env v val m <= sem S env v val b
  | (_, m) :: l => sem S env v val m <= sem S env v val b \/ one_below S env v val l b end.
Fixpoint mean_gap (l : list (formula * form)) (b : form) : form :=
  match l with [] => Number (Num 0) | (w, m) :: l => Plus (Times w (Minus b m)) (mean_gap l b) end.
Definition are_weights (es : list entry) (l : list (formula * form)) : bool :=
  (forallb (fun t => shows es (Below (Num 0) (fst t) [])) l &&
   shows es (Never (Le (fold_right Add (Num 0) (map fst l)) (Num 0))))%bool.
Theorem one_is_below (S : space) env v val es l b :
  fst (defined env 0 es) = snd (defined env 0 es) -> bounded env 0 es -> are_weights es l = true ->
  0 <= sem S env v val (mean_gap l b) -> one_below S env v val l b.
Proof.
  intros D B W G. apply andb_prop in W as [W T]. apply (shows_ok es _ env) in T; auto. simpl in T. apply Rnot_le_lt in T.
  assert (H : one_below S env v val l b \/ (sem S env v val (mean_gap l b) <= 0 /\
    (0 < den env (fold_right Add (Num 0) (map fst l)) -> sem S env v val (mean_gap l b) < 0))).
  { clear T G. induction l as [|[w m] l IH]; simpl in *. right. split; lra.
    apply andb_prop in W as [P W]. apply (shows_ok es _ env) in P; auto. simpl in P.
    destruct (Rle_dec (sem S env v val m) (sem S env v val b)) as [L|L]. left. destruct l as [|t l]; [exact L | left; exact L].
    apply Rnot_le_lt in L. destruct (IH W) as [I|[I J]]. left. destruct l as [|t l]; [destruct I | right; exact I].
    right. assert (X : den env w * (sem S env v val b - sem S env v val m) <= 0) by nra.
    split. lra. intro Y. destruct (Rle_lt_or_eq_dec 0 _ P) as [Q|Q].
    - assert (den env w * (sem S env v val b - sem S env v val m) < 0) by nra. lra.
    - rewrite <- Q in *. assert (0 < den env (fold_right Add (Num 0) (map fst l))) by lra. specialize (J H). lra. }
  destruct H as [H|[_ H]]. exact H. specialize (H T). lra.
Qed.
