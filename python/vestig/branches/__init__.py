"""Which memories belong to a branch of a repository, and what becomes of them when it is merged?"""
