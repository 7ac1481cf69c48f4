import CoherenceMapping

/// The common operations.
public struct People {
  let persistenceManager: PersistenceManager

  public init(_ persistenceManager: PersistenceManager) { self.persistenceManager = persistenceManager }

  public func fetchPerson(uid: String) throws -> Person? {
    try persistenceManager.fetchModel(entity: PersonRecord.self, uid: uid)
  }

  public func fetchPeople(uids: [String]) throws -> [Person] {
    try persistenceManager.fetchModel(entity: PersonRecord.self, uids: uids)
  }

  public func deletePeople(by uids: [String]) throws {
    try persistenceManager.deleteRecords(entity: PersonRecord.self, uids: uids)
  }

  public func delete(person: Person) throws {
    try persistenceManager.deleteModel(entity: PersonRecord.self, model: person)
  }

  public func delete(people: [Person]) throws {
    try persistenceManager.deleteModels(entity: PersonRecord.self, models: people)
  }

  public func save(people: [Person]) throws {
    try persistenceManager.save(
      entity: PersonRecord.self,
      models: people,
      shouldOverwrite: true
    )
  }
}
