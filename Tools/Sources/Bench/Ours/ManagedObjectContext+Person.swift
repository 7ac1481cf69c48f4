import Coherence

/// The work of the measures, as an application writes it.
extension ManagedObjectContext {
  func insert(_ people: [Person]) throws -> [PersonObject] {
    let objects = try people.map { person in
      let object = try PersonObject(context: self)
      object.assign(person)
      return object
    }
    try save()
    return objects
  }

  func fetchPeople(limit: Int? = nil) throws -> [PersonObject] {
    var request = FetchRequest(PersonObject.self)
    request.fetchLimit = limit
    return try fetch(request)
  }

  /// Returns the objects of the identifiers, which are faults unless they are registered.
  func people(with ids: [ManagedObjectID]) throws -> [PersonObject] {
    try ids.map { id in
      guard let person = object(with: id) as? PersonObject else { throw BenchError("The object is no person.") }
      return person
    }
  }
}
