// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {RampSettlement} from "./RampSettlement.sol";

/// Creates settlement contracts. It charges no fee, so its functions are not payable.
contract RampSettlementFactory {
    address private immutable settlementImplementation;

    event RampSettlementDeployed(
        address indexed settlementAddress,
        address indexed deployer,
        address admin,
        address treasury,
        uint256 timestamp
    );

    error WrongDeploymentFee(uint256 required, uint256 sent);

    constructor(address implementation) {
        settlementImplementation = implementation;
    }

    function deployRampSettlement(address admin, address treasury) external payable returns (address settlement) {
        if (msg.value != 0) revert WrongDeploymentFee(0, msg.value);
        bytes memory start = abi.encodeCall(RampSettlement.initialize, (admin, treasury));
        settlement = address(new ERC1967Proxy(settlementImplementation, start));
        emit RampSettlementDeployed(settlement, msg.sender, admin, treasury, block.timestamp);
    }
}
