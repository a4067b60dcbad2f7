"""A round of FPFC, against the double loop over pairs of the public code, and its memory at scale.

The torch loop does what the public code does, in its order: weights and biases of every client apart, joined
anew at each visit of a pair; theta and v dense in single precision, written in place; the sum over j of every
participant; participants trained one by one by automatic differentiation in double precision; regions by if
and elif with the norm taken anew; every pair of two participants twice. The numpy loop has nothing
superfluous: each pair once, one norm, one vector a model.

Ours writes in place too (``reuse_memory``), in single precision and in double; the server's loops are compiled where
the extra ``fast`` is installed. In single precision the server's parts are of one precision; the training of the
public code is more precise than ours there, and less than all of ours in double. Processor time of one thread is
compared.

Task: 100 clients in 4 clusters, softmax regression with 60 features and 10 classes (d = 610), 30
participants, 10 local steps; the rounds after 3, when most pairs are stored, and after 200, when those within
clusters are.

``python -m benchmarks.fusion_round``; for the memory, ``python -m benchmarks.fusion_round memory``, and for ten
thousand clients, ``python -m benchmarks.fusion_round many``
"""
