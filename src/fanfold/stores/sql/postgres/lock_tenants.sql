-- Wait until nobody appends to any session of any tenant, and let nobody do so, nor make a new tenant.
LOCK TABLE fanfold.tenant IN SHARE ROW EXCLUSIVE MODE
