(* Any number of functions, of which each has its own vector. Read the definitions: the lemmas prove that tuples of vectors
   are an inner product space, that the mean is a projection there, and that a mean of functions is of their class. *)
From Coq Require Import Rbase Rfunctions R_sqrt FunctionalExtensionality Lra Lia.
From Coq Require Fin.
From Clusterproof Require Import statements.
Open Scope R_scope.

Fixpoint total {n : nat} : (Fin.t n -> R) -> R :=
  match n with O => fun _ => 0 | Datatypes.S m => fun x => x Fin.F1 + total (fun i => x (Fin.FS i)) end.
(* The mean of n numbers. *)
Definition average {n : nat} (x : Fin.t n -> R) : R := total x / INR n.
Fixpoint vector_total {S : space} {n : nat} : (Fin.t n -> V S) -> V S :=
  match n with O => fun _ => origin S | Datatypes.S m => fun x => x Fin.F1 [+] vector_total (fun i => x (Fin.FS i)) end.
(* The mean of n vectors. *)
Definition vector_average {S : space} {n : nat} (x : Fin.t n -> V S) : V S := (/ INR n) [*] vector_total x.

(* ---- Sums *)

Lemma each_of {n} (P : Fin.t (Datatypes.S n) -> Prop) : P Fin.F1 -> (forall i, P (Fin.FS i)) -> forall i, P i.
Proof. intros H K i. exact (Fin.caseS' i P H K). Qed.
Lemma total_plus {n} (x y : Fin.t n -> R) : total (fun i => x i + y i) = total x + total y.
Proof. induction n; simpl. ring. rewrite IHn. ring. Qed.
Lemma total_times {n} a (x : Fin.t n -> R) : total (fun i => a * x i) = a * total x.
Proof. induction n; simpl. ring. rewrite IHn. ring. Qed.
Lemma total_le {n} (x y : Fin.t n -> R) : (forall i, x i <= y i) -> total x <= total y.
Proof. induction n; simpl; intro H. lra. pose proof (H Fin.F1). pose proof (IHn _ _ (fun i => H (Fin.FS i))). simpl in *. lra. Qed.
Lemma total_zero {n} (x : Fin.t n -> R) : (forall i, 0 <= x i) -> total x = 0 -> forall i, x i = 0.
Proof.
  induction n; simpl; intros H E i. inversion i.
  assert (T : 0 <= total (fun i => x (Fin.FS i))).
  { replace 0 with (total (fun _ : Fin.t n => 0 * 0)) by (rewrite (total_times 0 (fun _ => 0)); ring).
    apply total_le. intro j. rewrite Rmult_0_l. apply H. }
  pose proof (H Fin.F1) as F. revert i. apply each_of. lra. apply (IHn (fun i => x (Fin.FS i))). intro; apply H. lra.
Qed.
Lemma inverse_nonneg n : 0 <= / INR n \/ n = O.
Proof. destruct n. right; reflexivity. left. apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. lia. Qed.
Lemma average_plus {n} (x y : Fin.t n -> R) : average (fun i => x i + y i) = average x + average y.
Proof. unfold average, Rdiv. rewrite total_plus. ring. Qed.
Lemma average_times {n} a (x : Fin.t n -> R) : average (fun i => a * x i) = a * average x.
Proof. unfold average, Rdiv. rewrite total_times. ring. Qed.
Lemma average_le {n} (x y : Fin.t n -> R) : (forall i, x i <= y i) -> average x <= average y.
Proof.
  intro H. unfold average, Rdiv. destruct (inverse_nonneg n) as [P| ->]. apply Rmult_le_compat_r. exact P. apply total_le, H.
  simpl. lra.
Qed.
Lemma origin_ip (S : space) (z : V S) : <<origin S, z>> = 0.
Proof. rewrite <- (plus_opposite S z), ip_plus, ip_times. ring. Qed.
Lemma total_ip {S : space} {n} (x : Fin.t n -> V S) z : <<vector_total x, z>> = total (fun i => <<x i, z>>).
Proof. induction n; simpl. apply origin_ip. rewrite ip_plus, IHn. reflexivity. Qed.
Lemma average_ip {S : space} {n} (x : Fin.t n -> V S) z : <<vector_average x, z>> = average (fun i => <<x i, z>>).
Proof. unfold vector_average, average, Rdiv. rewrite ip_times, total_ip. ring. Qed.
Lemma average_same {n} (c : R) : Fin.t n -> average (fun _ : Fin.t n => c) = c.
Proof.
  intro i. unfold average. assert (N : INR n <> 0) by (destruct n; [inversion i | apply not_0_INR; discriminate]).
  assert (T : forall m, total (fun _ : Fin.t m => c) = INR m * c).
  { induction m. simpl. ring. rewrite S_INR. simpl. rewrite IHm. ring. }
  rewrite T. field. exact N.
Qed.

(* ---- The space of tuples of n vectors. Its inner product is the mean of the functions' inner products. *)

Definition tuples (n : nat) (S : space) : space.
Proof.
  refine {| V := Fin.t n -> V S; origin := fun _ => origin S; plus := fun x y i => x i [+] y i;
    times := fun a x i => a [*] x i; ip := fun x y => average (fun i => <<x i, y i>>) |}.
  1-8: intros; apply functional_extensionality; intro.
  - apply plus_comm.
  - apply plus_assoc.
  - apply plus_origin.
  - apply plus_opposite.
  - apply times_one.
  - apply times_times.
  - apply times_plus.
  - apply times_sum.
  - intros. f_equal. apply functional_extensionality. intro. apply ip_sym.
  - intros. rewrite <- average_plus. f_equal. apply functional_extensionality. intro. apply ip_plus.
  - intros. rewrite <- average_times. f_equal. apply functional_extensionality. intro. apply ip_times.
  - intros. replace 0 with (average (fun _ : Fin.t n => 0 * 0)) by (rewrite (average_times 0 (fun _ => 0)); ring).
    apply average_le. intro. rewrite Rmult_0_l. apply ip_pos.
  - intros x E. apply functional_extensionality. intro i. apply ip_definite. revert i. apply (total_zero (fun i => <<x i, x i>>)).
    intro; apply ip_pos. unfold average in E. destruct n. reflexivity.
    apply (Rmult_eq_reg_r (/ INR (Datatypes.S n))). rewrite Rmult_0_l. exact E. apply Rinv_neq_0_compat, not_0_INR. discriminate.
Defined.
(* The same vector for each function, and the mean, which all functions share. *)
Definition shared {S : space} (n : nat) (x : V S) : V (tuples n S) := fun _ => x.
Definition mean_of_tuple {S : space} (n : nat) (x : V (tuples n S)) : V (tuples n S) := shared n (vector_average x).
(* The mean of the functions' functions, each at its own point; and the gradients there. *)
Definition mean_value {S : space} {n : nat} (f : Fin.t n -> V S -> R) (x : V (tuples n S)) : R := average (fun i => f i (x i)).
Definition gradients {S : space} {n : nat} (g : Fin.t n -> V S -> V S) (x : V (tuples n S)) : V (tuples n S) := fun i => g i (x i).

(* ---- What a proof uses: the mean is an orthogonal projection *)

Definition projection {S : space} (m : V S -> V S) : Prop :=
  (forall x, m (m x) = m x) /\ (forall x y, <<m x, y>> = <<x, m y>>).
Lemma shared_mean {S : space} n (x : V S) : mean_of_tuple n (shared n x) = shared n x.
Proof.
  apply functional_extensionality. intro i. unfold mean_of_tuple, shared.
  assert (L : forall z, <<vector_average (fun _ : Fin.t n => x), z>> = <<x, z>>)
    by (intro z; rewrite average_ip; apply (average_same _ i)).
  assert (N : vector_average (fun _ : Fin.t n => x) [-] x = origin S).
  { apply ip_definite. unfold difference. rewrite !ip_plus, !ip_times, L. ring. }
  unfold difference in N.
  rewrite <- (plus_origin S (vector_average _)), <- (plus_opposite S x), (plus_comm S x), plus_assoc, N, plus_comm. apply plus_origin.
Qed.
Lemma mean_projects (n : nat) (S : space) : projection (S := tuples n S) (mean_of_tuple n).
Proof.
  split; intros. apply shared_mean. simpl. unfold mean_of_tuple, shared.
  assert (A : forall u v : V (tuples n S), average (fun i => <<vector_average u, v i>>) = <<vector_average u, vector_average v>>).
  { intros. rewrite (ip_sym S (vector_average u)), average_ip. f_equal. apply functional_extensionality. intro. apply ip_sym. }
  rewrite A, ip_sym, <- A. f_equal. apply functional_extensionality. intro. apply ip_sym.
Qed.
Lemma mean_strongly_convex {S : space} {n} mu (f : Fin.t n -> V S -> R) g : (forall i, strongly_convex mu (f i) (g i)) ->
  strongly_convex (S := tuples n S) mu (mean_value f) (gradients g).
Proof.
  intros C x y. apply Rle_ge. unfold mean_value. simpl. rewrite <- average_times, <- !average_plus.
  apply average_le. intro i. apply Rge_le. exact (C i (x i) (y i)).
Qed.
Lemma mean_upper_smooth {S : space} {n} L (f : Fin.t n -> V S -> R) g : (forall i, upper_smooth L (f i) (g i)) ->
  upper_smooth (S := tuples n S) L (mean_value f) (gradients g).
Proof.
  intros C x y. unfold mean_value. simpl. rewrite <- average_times, <- !average_plus.
  apply average_le. intro i. exact (C i (x i) (y i)).
Qed.
