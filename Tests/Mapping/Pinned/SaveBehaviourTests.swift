import CoherenceCore
import CoherenceMapping
import Testing
import TestSupport

@Suite("Saving models")
struct SaveBehaviourTests {
  @Test(arguments: Backend.available)
  func `without overwriting, new models are inserted beside existing records`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let result = try stack.manager.save(entity: GroceryRecord.self, models: [.acai, .lime], shouldOverwrite: false)
    #expect(result.inserted == 2 && result.updated == 0 && result.deleted == 0)
    #expect(try Set(stack.products()) == Set(GroceryProduct.four + [.acai, .lime]))
  }

  @Test(arguments: Backend.available)
  func `without overwriting, a model updates the record with its uid`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    var banana = GroceryProduct.banana
    banana.details = nil
    let result = try stack.manager.save(entity: GroceryRecord.self, models: [banana, .acai], shouldOverwrite: false)
    #expect(result.inserted == 1 && result.updated == 1)
    #expect(try stack.products() == [banana, .blackberry, .durian, .mango, .acai])
  }

  @Test(arguments: Backend.available)
  func `a save leaves one of several records with one uid`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four + [.banana, .banana, .mango])
    let result = try stack.manager.save(entity: GroceryRecord.self, models: [.banana, .mango], shouldOverwrite: false)
    #expect(result.deleted == 3 && result.unchanged == 2)
    #expect(try stack.products() == [.banana, .blackberry, .durian, .mango])
  }

  @Test(arguments: Backend.available)
  func `after an overwriting save, only the given models are stored`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    let result = try stack.manager.save(entity: GroceryRecord.self, models: [.mango, .lime], shouldOverwrite: true)
    #expect(result.inserted == 1 && result.unchanged == 1 && result.deleted == 3)
    #expect(try stack.products() == [.mango, .lime])
  }

  @Test(arguments: Backend.available)
  func `an empty list of models changes nothing, and deletes all records when it overwrites`(
    backend: Backend
  ) throws {
    let stack = try MappingStack(backend)
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    try stack.manager.save(entity: GroceryRecord.self, models: [], shouldOverwrite: false)
    #expect(try stack.products().count == 4)
    try stack.manager.save(entity: GroceryRecord.self, models: [], shouldOverwrite: true)
    #expect(try stack.products() == [])
  }
}
