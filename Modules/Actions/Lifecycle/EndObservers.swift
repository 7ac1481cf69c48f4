/// The blocks to call at the end of an action, in the order in which they were added.
struct EndObservers {
  typealias Block = @Sendable () -> Void

  private var blocks: [Int: Block] = [:]
  /// The numbers of the blocks of dependents.
  private var numbers: [ObjectIdentifier: Int] = [:]
  private var lastNumber = 0

  var isEmpty: Bool { blocks.isEmpty }
  var count: Int { blocks.count }
  var all: [Block] { isEmpty ? [] : blocks.sorted { $0.key < $1.key }.map { $0.value } }

  /// Adds a block.
  ///
  /// - Parameter dependent: The action that the block concerns, with at most one block; `nil` for another block.
  mutating func add(for dependent: ObjectIdentifier? = nil, _ block: @escaping Block) {
    lastNumber += 1
    blocks[lastNumber] = block
    if let dependent { numbers[dependent] = lastNumber }
  }

  /// Removes the block of a dependent.
  mutating func remove(for dependent: ObjectIdentifier) {
    if let number = numbers.removeValue(forKey: dependent) { blocks[number] = nil }
  }
}
