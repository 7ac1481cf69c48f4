open class ManagedObject {}
