import CoherenceCore
import CoherenceReconciliation
import Testing

@Suite("Scanning stored rows")
struct RowScanTests {
  @Test func `a scan by key finds the rows that differ and the input records without a row`() throws {
    let stack = try ItemStack([Item(1, "a"), Item(2, "b"), Item(3, "c")])
    try stack.context.performAndWait {
      let (scan, index) = try stack.scan([Item(1, "a"), Item(2, "new"), Item(4, "d")])
      try scan.readUnmatched()
      #expect(scan.changes.map(\.index) == [1])
      #expect(scan.changes.map { stack.name($0.row) } == [.string("b")])
      #expect(scan.superfluousRows.isEmpty)
      #expect(index.indexes(notIn: scan.matched) == [2])
    }
  }

  @Test func `a scan of all rows finds the superfluous ones, and rows without a key only by option`() throws {
    let stack = try ItemStack([Item(1, "a"), Item(2, "b"), Item(nil, "keyless")])
    for includesKeyless in [false, true] {
      try stack.context.performAndWait {
        let (scan, index) = try stack.scan([Item(1, "a")], includesIncompleteKeys: includesKeyless)
        try scan.readAll(where: nil)
        let names = Set(scan.superfluousRows.map { stack.name($0) })
        #expect(names == (includesKeyless ? [.string("b"), .string("keyless")] : [.string("b")]))
        #expect(scan.changes.isEmpty && index.indexes(notIn: scan.matched).isEmpty)
      }
    }
  }

  @Test func `a later reading passes over rows that an earlier reading matched`() throws {
    let items = (0..<600).map { Item(Int64($0), "\($0)") }
    let stack = try ItemStack(items)
    try stack.context.performAndWait {
      let (scan, _) = try stack.scan(items, duplicates: .remove)
      try scan.readAll(where: .comparison(.path(PropertyPath("name")), .equal, .value(.string("5"))))
      #expect(scan.matched.count == 1)
      // So many keys without an index are read in one pass over all rows.
      try scan.readUnmatched()
      try scan.resolveDuplicates()
      #expect(scan.matched.count == 600 && scan.superfluousRows.isEmpty && scan.changes.isEmpty)
    }
  }

  @Test func `the oldest of several rows with one key is the match`() throws {
    let stack = try ItemStack([Item(1, "oldest"), Item(1, "middle"), Item(1, "newest"), Item(2, "other")])
    try stack.context.performAndWait {
      for (policy, surplus) in [(ScanOptions.Duplicates.keep, 0), (.remove, 2)] {
        let (scan, _) = try stack.scan([Item(1, "new"), Item(2, "other")], duplicates: policy)
        try scan.readUnmatched()
        try scan.resolveDuplicates()
        #expect(scan.changes.map { stack.name($0.row) } == [.string("oldest")])
        #expect(scan.superfluousRows.count == surplus && scan.matched.count == 2)
      }
      let refusal = CoherenceError(.invalidMergeKey, "Two items have the same identifier.")
      let (scan, _) = try stack.scan([Item(1, "new")], duplicates: .refuse(refusal))
      #expect(throws: CoherenceError.self) { try scan.readUnmatched() }
    }
  }

  @Test func `the identifiers by key are those of the oldest rows with the wanted keys, and of no other row`() throws {
    let stack = try ItemStack([Item(1, "oldest"), Item(1, "newest"), Item(2, "other"), Item(nil, "keyless")])
    let key = try #require(stack.entity.attribute(named: "id"))
    try stack.context.performAndWait {
      let finder = IDsByKey(
        [[.int(1)], [.int(3)]], keySlots: [key.slot], order: StoreOrder(of: stack.context))
      // A pass over all rows has rows with other keys too.
      try StoredRows(stack.entity, keyAttributes: [key], in: stack.context).compare(where: nil, with: finder)
      var request = FetchRequest<ManagedObject>(entityName: "Item")
      request.predicate = .comparison(.path(PropertyPath("name")), .equal, .value(.string("oldest")))
      let oldest = try #require(try stack.context.fetch(request).first)
      let expected: [[AttributeValue]: ManagedObjectID] = [[.int(1)]: oldest.objectID]
      #expect(finder.ids == expected)
      #expect(finder.missing == [[.int(3)]])
    }
  }

  @Test func `more keys than one query takes are all matched`() throws {
    let items = (0..<1_300).map { Item(Int64($0), "\($0)") }
    let stack = try ItemStack(items)
    try stack.context.performAndWait {
      let (scan, index) = try stack.scan(items.reversed() + [Item(-1, "missing")])
      try scan.readUnmatched()
      #expect(scan.matched.count == 1_300 && scan.changes.isEmpty)
      #expect(index.indexes(notIn: scan.matched) == [1_300])
    }
  }

  @Test func `a stored row is older than an unsaved row with its key`() throws {
    let stack = try ItemStack([Item(1, "stored")])
    try stack.context.performAndWait {
      let unsaved = try stack.context.insertNewObject(forEntityName: "Item")
      try unsaved.setValue(1, for: "id")
      try unsaved.setValue("unsaved", for: "name")
      let (scan, _) = try stack.scan([Item(1, "new")], duplicates: .remove)
      try scan.readUnmatched()
      try scan.resolveDuplicates()
      #expect(scan.changes.map { stack.name($0.row) } == [.string("stored")])
      #expect(scan.superfluousRows.map { stack.name($0) } == [.string("unsaved")])
    }
  }

  @Test func `the records that satisfy a predicate are found among more records than one query takes`() throws {
    let items = (0..<1_001).map { Item(Int64($0), $0 == 5 || $0 == 1_000 ? "no" : "yes") }
    let stack = try ItemStack(items)
    let key = try #require(stack.entity.attribute(named: "id"))
    try stack.context.performAndWait {
      let rows = StoredRows(stack.entity, keyAttributes: [key], in: stack.context)
      let ids = try stack.context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).map(\.objectID)
      let isYes = FetchPredicate.comparison(.path(PropertyPath("name")), .equal, .value(.string("yes")))
      #expect(try rows.ids(among: ids, satisfying: isYes).count == 999)
      #expect(try rows.ids(among: Array(ids.prefix(3)), satisfying: .constant(true)) == Set(ids.prefix(3)))
      #expect(try rows.ids(among: [], satisfying: .constant(true)).isEmpty)
    }
  }

  @Test func `a scan checks for cancellation once in 256 rows, and a reading by key before each query`() throws {
    let stack = try ItemStack((0..<600).map { Item(Int64($0), "\($0)") })
    let key = try #require(stack.entity.attribute(named: "id"))
    try stack.context.performAndWait {
      var checks = 0
      let rows = StoredRows(stack.entity, keyAttributes: [key], in: stack.context) { checks += 1 }
      let input = ItemInput([], stack.entity)
      let scan = RowScan(
        rows, inputByKey: InputIndex(input, keyWidth: 1), expected: input,
        options: ScanOptions(duplicates: .keep, includesSubentities: true, includesIncompleteKeys: false))
      try scan.readAll(where: nil)
      #expect(checks == 2 && scan.superfluousRows.count == 600)
      checks = 0
      try rows.forEachPredicate(matching: KeyColumns((0..<500).map { AttributeValue.int($0) })) { _ in }
      #expect(checks == 1)
      checks = 0
      let ids = try stack.context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).map(\.objectID)
      #expect(try rows.ids(among: ids, satisfying: .constant(true)).count == 600)
      #expect(checks == 2)
    }
  }
}
